// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/model.h"

#include "model/multimodal_model.h"

namespace ecokv::model {

std::unique_ptr<Model> Model::open(const std::filesystem::path& folder,
                                   const LoadOptions& options) {
    return MultimodalModel::open(folder, options);
}

} // namespace ecokv::model

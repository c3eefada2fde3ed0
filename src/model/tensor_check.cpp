// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/tensor_check.h"

#include "model/decoder/decoder.h"
#include "model/families/family.h"
#include "model/torch_runtime.h"
#include "model/vision/vision_encoder.h"
#include "model/weight_loader.h"
#include "model/weights/checkpoint.h"

namespace ecokv::model {

std::shared_ptr<const VisionEncoder>
checkTensors(const Family& family, const Checkpoint& checkpoint, const std::string& folder) {
    const TorchScope scope(1);
    WeightLoader loader(checkpoint, family.prefixRules(), {.shapesOnly = true});
    std::shared_ptr<const VisionEncoder> vision = family.takeVision(loader);
    const Decoder decoder(family.config().decoder, family.decoderNames(), loader,
                          at::TensorOptions(c10::kFloat));
    loader.finish(folder);
    return vision;
}

} // namespace ecokv::model

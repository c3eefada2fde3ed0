#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The weights of one decoder layer, taken from a checkpoint under the names all families share.

#include "model/decoder/delta_net.h"
#include "model/layers.h"
#include "model/weight_loader.h"

#include <optional>
#include <string>

namespace ecokv::model {

/// Norms without a weight are not there; a linear layer has its delta net in place of the
/// projections of attention.
struct LayerWeights {
    RmsNorm attentionNorm, mlpNorm;     ///< in front of each block
    RmsNorm behindAttention, behindMlp; ///< Gemma
    RmsNorm queryNorm, keyNorm;         ///< [headDim]
    Linear query, key, value, output;   ///< with gated attention, query gives [head, 2, dim]
    std::optional<DeltaNet> deltaNet;
    Linear gate, up, down;
};

/// `prefix` ends in a dot ("model.layers.3."). What is missing is noted by the loader.
LayerWeights takeLayerWeights(const DecoderConfig& config, const std::string& prefix, LayerId id,
                              WeightLoader& loader);
/// A norm of `size` elements under the rules of `config`.
RmsNorm takeDecoderNorm(const DecoderConfig& config, const std::string& name, std::int64_t size,
                        WeightLoader& loader);

} // namespace ecokv::model

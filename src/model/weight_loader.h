#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Hands out the weights of a checkpoint as tensors of one dtype on one device, under the names of
// the newest exports. Collects everything that does not fit, so that finish() can name it at once.
// Tensors that need no conversion are views of the mapped file: the checkpoint must outlive them.
// F64, F32, F16, BF16 and the 8-bit floats are converted; integers are no weights.

#include "base/cancellation.h"
#include "base/progress.h"
#include "model/aten.h"
#include "model/layers.h"
#include "model/weight_names.h"
#include "model/weights/checkpoint.h"

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace ecokv::model {

struct WeightTarget {
    DType dtype = DType::F32;
    Device device = {};
    ProgressSink progress = {};
    CancellationToken cancel = {};
    /// Tensors of the right shape without data: everything is checked, nothing is read.
    bool shapesOnly = false;
};

class WeightLoader {
public:
    WeightLoader(const Checkpoint& checkpoint, std::span<const PrefixRule> rules,
                 WeightTarget target);

    bool has(const std::string& name) const { return m_byName.contains(name); }
    /// The tensor, or an undefined one after noting that it is missing or of another shape.
    at::Tensor take(const std::string& name, at::IntArrayRef shape);
    /// NAME.weight [out, in] and, if `bias`, NAME.bias [out].
    Linear takeLinear(const std::string& name, at::IntArrayRef shape, bool bias);
    LayerNorm takeLayerNorm(const std::string& name, std::int64_t hidden, double epsilon);
    RmsNorm takeRmsNorm(const std::string& name, std::int64_t hidden, double epsilon);
    /// Tensors that begin with `prefix` are known and rightly left alone.
    void ignore(const std::string& prefix);

    /// Throws Error{BadInput} listing every tensor that is missing, mis-shaped, stored twice, of a
    /// dtype that is not converted (field case F093) or described by nothing in config.json.
    void finish(const std::string& folder) const;

private:
    at::Tensor load(const StoredTensor& stored);
    void addName(const StoredTensor& stored, std::span<const PrefixRule> rules);

    WeightTarget m_target;
    std::map<std::string, const StoredTensor*> m_byName; ///< canonical name
    std::set<std::string> m_used;
    std::vector<std::string> m_missing, m_misshaped, m_doubled, m_unreadable;
    std::int64_t m_bytesDone = 0, m_bytesTotal = 0;
};

} // namespace ecokv::model

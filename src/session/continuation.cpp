// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/continuation.h"

#include "base/stop_watch.h"
#include "kernels/row_access.h"
#include "policy/host_tensor.h"

#include <utility>

namespace ecokv::session {

void QueryRows::layerPrefilled(const model::LayerTensors& tensors) {
    if (m_layers.size() <= tensors.layer.index()) {
        m_layers.resize(tensors.layer.index() + 1);
    }
    Layer& layer = m_layers[tensors.layer.index()];
    const policy::HostTensor host(tensors.windowQueries);
    const TensorView& queries = host.view(); // [head, 1, dim]
    layer.heads = queries.shape[0];
    layer.dim = queries.shape[2];
    for (std::int64_t head = 0; head < layer.heads; ++head) {
        for (std::int64_t i = 0; i < layer.dim; ++i) {
            layer.rows.push_back(kernels::elementAsFloat(queries, head * queries.strides[0] +
                                                                      i * queries.strides[2]));
        }
    }
    layer.positions.push_back(tensors.windowPositions.back());
}

TensorView QueryRows::queries(LayerId layer) const {
    const Layer& rows = m_layers[layer.index()];
    TensorView view = TensorView::contiguous(const_cast<float*>(rows.rows.data()), DType::F32,
                                             {rows.heads, rows.steps(), rows.dim});
    view.strides = {rows.dim, rows.heads * rows.dim, 1, 0};
    return view;
}

Continuation followFull(model::Model& model, cache::KvCache& full, std::vector<float> logits,
                        GenerationParams params) {
    Continuation continuation;
    params.observer = &continuation.queries;
    params.onLogits = [&](const std::vector<float>& step) { continuation.logits.push_back(step); };
    const StopWatch watch;
    continuation.answer = generateAnswer(model, full, std::move(logits), params);
    continuation.seconds = watch.seconds();
    return continuation;
}

ForcedSteps forceAlong(const Continuation& continuation, model::Model& model, cache::KvCache& cache,
                       const CancellationToken& cancel, double& seconds) {
    ForcedSteps steps;
    std::vector<float> logits;
    seconds = 0;
    for (std::size_t step = 0; step < continuation.logits.size(); ++step) {
        const std::vector<float>& full = continuation.logits[step];
        const TokenId token = continuation.answer.tokenIds[step];
        if (step > 0) {
            cancel.throwIfCancelled("The comparison");
            const StopWatch watch;
            logits = model.decode(continuation.answer.tokenIds[step - 1], cache, cancel);
            seconds += watch.seconds();
        }
        noteLengths(cache, steps.cache);
        const std::vector<float>& kept = step > 0 ? logits : full; // the prefill is shared
        steps.kl.push_back(static_cast<float>(klDivergence(full, kept)));
        steps.top.push_back(topToken(kept));
        steps.top1Agree.push_back(steps.top.back() == topToken(full) ? 1 : 0);
        steps.logprob.push_back(logProbability(kept, token));
    }
    return steps;
}

} // namespace ecokv::session

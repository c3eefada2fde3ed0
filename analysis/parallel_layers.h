#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: work on the layers of a trace on all threads. Layers are independent and the kernels
// inside give the same numbers on any number of threads, so that results depend on neither.

#include "base/cancellation.h"
#include "base/progress.h"

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace ecokv::analysis {

/// Calls body(layer) for every layer; the first exception is thrown on, the rest are not begun.
/// Throws Error{Cancelled} naming `what`.
template <class Body>
void forEachLayer(std::int64_t layers, const CancellationToken& cancel, const char* what,
                  const Body& body) {
    std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic) if (layers > 1)
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        bool skip = cancel.isCancelled();
#pragma omp critical(ecokvLayerFailure)
        skip = skip || failure != nullptr;
        if (skip) {
            continue;
        }
        try {
            body(layer);
        } catch (...) {
#pragma omp critical(ecokvLayerFailure)
            failure = failure ? failure : std::current_exception();
        }
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    cancel.throwIfCancelled(what);
}

/// Counts finished layers for a sink that takes one call at a time.
class LayerProgress {
public:
    LayerProgress(std::string stage, std::int64_t layers, const ProgressSink& sink)
        : m_now{std::move(stage), 0, layers, "layers"}, m_sink(sink) {}

    void layerDone() {
        const std::lock_guard lock(m_mutex);
        ++m_now.done;
        if (m_sink) {
            m_sink(m_now);
        }
    }

private:
    std::mutex m_mutex;
    Progress m_now;
    const ProgressSink& m_sink;
};

} // namespace ecokv::analysis

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// LibTorch's process-wide settings: threads, inference mode, the CUDA library. Only the CPU library
// is linked; libtorch_cuda (hundreds of MB) is loaded when a GPU is first asked for.

#include "base/tensor_view.h"
#include "model/aten.h"
#include "model/model.h"

namespace ecokv::model {

/// Guards of one call into LibTorch, for the calling thread: both inference mode and the number of
/// threads belong to a thread, not to the process (field cases F164 to F166).
class TorchScope {
public:
    explicit TorchScope(int threads); ///< a resolved number, 1 or more

private:
    c10::InferenceMode m_inference;
};

/// `asked` if it is positive; else one thread for a small model, whose layers are too short to
/// share out (waiting at the end of each costs more than the work, and very much more on a busy
/// machine), and every core this process may run on for others.
int resolveThreads(int asked, std::int64_t parameters);

/// Makes `device` usable or throws Error{BadInput} saying what was built, what was found and what
/// to do (field case F161). To be called before anything else of LibTorch: the first operation
/// fixes for the whole process whether there is CUDA, so the CUDA library is loaded even for a CPU
/// model where a driver is present.
void prepareDevice(Device device);

/// Freed bytes that malloc keeps for the next ones.
inline constexpr int kFreedBytesKept = 32 << 20;
/// Lets malloc keep freed blocks of a layer's size for the next layer, 32 MiB at most at the end of
/// the heap, instead of giving every page back and having it zeroed again. Once per process.
void keepFreedBlocks();

struct ComputeDTypeRequest {
    ComputeDType asked = ComputeDType::Auto;
    DType stored = DType::F32;
    std::int64_t weightBytes = 0; ///< on disk
    Device device;
};

/// The rule behind `--dtype`: a named dtype is obeyed. `auto` computes on a GPU as stored; on a CPU
/// in f32, except for bf16 weights of 1 GiB and more on a CPU with bf16 instructions. fp16 is never
/// computed with on a CPU (field case F171).
DType chooseComputeDType(const ComputeDTypeRequest& request);

} // namespace ecokv::model

// SPDX-License-Identifier: GPL-3.0-or-later
// Features of pictures for the Python oracles, without the decoder:
//
//   ecokv_vision_probe FOLDER OUT PICTURE...
//
// writes OUT/rows<i>.npy [imageToken, hidden] and OUT/deep<i>_<k>.npy for each picture, prepared by
// the folder's processor, in f32. One JSON object on stdout: deepstack, the number of k.

#include "base/error.h"
#include "model/aten.h"
#include "model/families/family.h"
#include "model/image/image_decoder.h"
#include "model/prompt_builder.h"
#include "model/vision/vision_encoder.h"
#include "model/weight_loader.h"
#include "model/weights/checkpoint.h"
#include "npy_file.h"

#include <iostream>
#include <string>
#include <vector>

namespace ecokv::model {

namespace {

void write(const std::filesystem::path& path, const at::Tensor& rows) {
    const at::Tensor dense = rows.contiguous();
    const float* first = dense.const_data_ptr<float>();
    tests::writeNpy(path, dense.sizes().vec(), {first, first + dense.numel()});
}

Json features(const std::filesystem::path& folder, const std::filesystem::path& out,
              const std::vector<std::string>& pictures) {
    const c10::InferenceMode guard;
    const auto family = openFamily(folder);
    const PromptBuilder prompts = PromptBuilder::open(folder, *family);
    const Checkpoint checkpoint = Checkpoint::open(folder);
    WeightLoader loader(checkpoint, family->prefixRules(), {});
    const auto tower = family->takeVision(loader);
    std::size_t deepstack = 0;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        std::vector<std::string> notes;
        const Picture picture = decodePicture(pictures[i], {}, notes);
        PictureInput input = prompts.pictureProcessor()->prepare(picture, pictures.size()).input;
        const at::Tensor pixels =
            at::from_blob(input.values.data(), input.shape, at::TensorOptions(c10::kFloat));
        const VisionFeatures result = tower->encode(pixels, input, [] {});
        write(out / ("rows" + std::to_string(i) + ".npy"), result.rows);
        deepstack = result.deepstack.size();
        for (std::size_t k = 0; k < deepstack; ++k) {
            write(out / ("deep" + std::to_string(i) + "_" + std::to_string(k) + ".npy"),
                  result.deepstack[k]);
        }
    }
    return {{"deepstack", deepstack}};
}

} // namespace

} // namespace ecokv::model

int main(int count, char** arguments) {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words.size() < 3) {
        std::cerr << "FOLDER OUT PICTURE...\n";
        return 2;
    }
    try {
        std::cout << ecokv::model::features(words[0], words[1], {words.begin() + 2, words.end()})
                  << "\n";
        return 0;
    } catch (const ecokv::Error& error) {
        std::cerr << error.what() << "\n";
        return 3;
    }
}

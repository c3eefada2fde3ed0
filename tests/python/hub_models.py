# SPDX-License-Identifier: GPL-3.0-or-later
"""What the folders of published models say about themselves: keys and values of their configurations, as facts.

Older exports leave out what was a default of its time and call things by older names; that is what these are for.
"""
from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chat_families as chat
from checkpoint_names import oldest_layout
from conftest import DEMO_MODEL

Json = dict[str, Any]
CLIP_MEAN, CLIP_STD = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
HALF = [0.5, 0.5, 0.5]
PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
STEPS = {"do_convert_rgb": True, "do_normalize": True, "do_rescale": True, "do_resize": True, "rescale_factor": 0.00392156862745098}
CANVASES = [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]]
CLIP_L = {"hidden_size": 1024, "image_size": 336, "intermediate_size": 4096, "model_type": "clip_vision_model", "num_attention_heads": 16,
          "num_hidden_layers": 24, "patch_size": 14, "projection_dim": 768, "vocab_size": 32000}
SQUARE = {**STEPS, "crop_size": {"height": 336, "width": 336}, "do_center_crop": True, "image_mean": CLIP_MEAN, "image_std": CLIP_STD, "resample": 3,
          "size": {"shortest_edge": 336}}
SMOLVLM = chat.SMOLVLM.replace("{{ image_token }}", "{{ '<image>' }}")
QWEN_IDS = {"bos_token_id": 151643, "eos_token_id": 151645, "vision_start_token_id": 151652, "vision_end_token_id": 151653,
            "image_token_id": 151655, "video_token_id": 151656}
QWEN_TOKENS = {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645, "<|vision_start|>": 151652, "<|vision_end|>": 151653,
               "<|vision_pad|>": 151654, "<|image_pad|>": 151655, "<|video_pad|>": 151656}
QWEN_PATCHES = {"patch_size": 14, "temporal_patch_size": 2, "merge_size": 2, "image_mean": CLIP_MEAN, "image_std": CLIP_STD,
                "image_processor_type": "Qwen2VLImageProcessor"}
QWEN_TEXT = {"attention_dropout": 0.0, "hidden_act": "silu", "initializer_range": 0.02, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
             "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}, "sliding_window": 32768, "use_sliding_window": False, "use_cache": True,
             "tie_word_embeddings": True, "torch_dtype": "bfloat16", "transformers_version": "4.41.2", "vocab_size": 151936}


@dataclass(frozen=True)
class HubModel:
    """A folder. `files` are further ones, by name; None = no such content matters, only that it is there."""
    config: Json
    image_tokens: int = 0  # of one picture of 640 x 480, worked out by hand
    tokens: dict[str, int] = field(default_factory=dict)  # added tokens of its tokenizer
    tokenizer: Json = field(default_factory=dict)  # of tokenizer_config.json
    files: dict[str, Json | None] = field(default_factory=dict)
    template: str | None = None
    template_file: str = "chat_template.json"
    published: Callable[[str], str] = lambda name: name  # names of transformers 5 -> names in the files


def older_qwen(name: str) -> str:
    """Decoder and tower side by side."""
    return name.replace("model.visual.", "visual.").replace("model.language_model.", "model.")


def roles(bos: str | None, eos: str, **more: Any) -> Json:
    """tokenizer_config.json."""
    return {"bos_token": bos, "eos_token": eos, "clean_up_tokenization_spaces": False, "model_max_length": 1000000000000000019884624838656, **more}


LLAMA2_TOKENS = {"<unk>": 31000, "<s>": 31001, "</s>": 31002, "<image>": 32000, "<pad>": 32001}

MODELS: dict[str, HubModel] = {
    "llava-hf/llava-1.5-7b-hf": HubModel(
        config={"architectures": ["LlavaForConditionalGeneration"], "ignore_index": -100, "image_token_index": 32000, "model_type": "llava",
                "pad_token_id": 32001, "projector_hidden_act": "gelu",
                "text_config": {"_name_or_path": "lmsys/vicuna-7b-v1.5", "architectures": ["LlamaForCausalLM"], "max_position_embeddings": 4096,
                                "model_type": "llama", "rms_norm_eps": 1e-05, "torch_dtype": "float16", "vocab_size": 32064},
                "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.36.0.dev0", "vision_config": CLIP_L,
                "vision_feature_layer": -2, "vision_feature_select_strategy": "default", "vocab_size": 32064},
        image_tokens=24 * 24, tokens=LLAMA2_TOKENS,
        tokenizer=roles("<s>", "</s>", pad_token="<pad>", unk_token="<unk>", image_token="<image>", extra_special_tokens={"image_token": "<image>"}),
        files={"preprocessor_config.json": {**SQUARE, "image_processor_type": "CLIPImageProcessor", "processor_class": "LlavaProcessor"},
               "processor_config.json": {"image_token": "<image>", "num_additional_image_tokens": 1, "patch_size": 14, "processor_class": "LlavaProcessor",
                                         "vision_feature_select_strategy": "default"},
               "generation_config.json": {"_from_model_config": True, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 32001},
               "added_tokens.json": {"<image>": 32000, "<pad>": 32001}},
        template=chat.LLAVA_15, published=oldest_layout),
    "llava-hf/llava-v1.6-mistral-7b-hf": HubModel(
        config={"architectures": ["LlavaNextForConditionalGeneration"], "ignore_index": -100, "image_grid_pinpoints": CANVASES,
                "image_token_index": 32000, "model_type": "llava_next", "projector_hidden_act": "gelu",
                "text_config": {"_name_or_path": "mistralai/Mistral-7B-Instruct-v0.2", "architectures": ["MistralForCausalLM"],
                                "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral", "num_key_value_heads": 8,
                                "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": None, "torch_dtype": "bfloat16", "vocab_size": 32064},
                "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.39.0.dev0", "use_image_newline_parameter": True,
                "vision_config": CLIP_L, "vision_feature_layer": -2, "vision_feature_select_strategy": "default", "vocab_size": 32064},
        image_tokens=24 * 24 + 36 * (48 + 1),  # the whole; 672 x 672 in 2 x 2 tiles, of whose 48 rows 36 are picture, each with its end
        tokens=LLAMA2_TOKENS, tokenizer=roles("<s>", "</s>", pad_token="<pad>", unk_token="<unk>"),
        files={"preprocessor_config.json": {**SQUARE, "aspect_ratio_setting": "anyres", "do_pad": True, "image_grid_pinpoints": CANVASES,
                                            "image_processor_type": "LlavaNextImageProcessor", "processor_class": "LlavaNextProcessor"},
               "processor_config.json": {"image_token": "<image>", "num_additional_image_tokens": 1, "patch_size": 14,
                                         "processor_class": "LlavaNextProcessor", "vision_feature_select_strategy": "default"},
               "generation_config.json": {"_from_model_config": True, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 32001}},
        template=chat.LLAVA_NEXT_MISTRAL, published=oldest_layout),
    "Qwen/Qwen2-VL-2B-Instruct": HubModel(
        config={**QWEN_IDS, **QWEN_TEXT, "architectures": ["Qwen2VLForConditionalGeneration"], "model_type": "qwen2_vl", "vision_token_id": 151654,
                "hidden_size": 1536, "intermediate_size": 8960, "max_position_embeddings": 32768, "max_window_layers": 28, "num_attention_heads": 12,
                "num_hidden_layers": 28, "num_key_value_heads": 2,
                "vision_config": {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "in_chans": 3, "hidden_size": 1536, "patch_size": 14,
                                  "spatial_merge_size": 2, "spatial_patch_size": 14, "temporal_patch_size": 2}},
        image_tokens=23 * 17,  # 644 x 476 in squares of 28
        tokens=QWEN_TOKENS, tokenizer=roles(None, "<|im_end|>", pad_token="<|endoftext|>", unk_token=None,
                                            additional_special_tokens=["<|im_start|>", "<|vision_start|>", "<|image_pad|>", "<|video_pad|>"]),
        files={"preprocessor_config.json": {**QWEN_PATCHES, "min_pixels": 3136, "max_pixels": 12845056, "processor_class": "Qwen2VLProcessor"},
               "generation_config.json": {"bos_token_id": 151643, "eos_token_id": [151645, 151643], "temperature": 0.01, "top_k": 1, "top_p": 0.001}},
        template=chat.QWEN2_VL, published=older_qwen),
    "Qwen/Qwen2.5-VL-3B-Instruct": HubModel(
        config={**QWEN_IDS, **QWEN_TEXT, "architectures": ["Qwen2_5_VLForConditionalGeneration"], "model_type": "qwen2_5_vl", "vision_token_id": 151654,
                "hidden_size": 2048, "intermediate_size": 11008, "max_position_embeddings": 128000, "max_window_layers": 70, "num_attention_heads": 16,
                "num_hidden_layers": 36, "num_key_value_heads": 2,
                "vision_config": {"depth": 32, "hidden_act": "silu", "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "in_chans": 3,
                                  "out_hidden_size": 2048, "patch_size": 14, "spatial_merge_size": 2, "spatial_patch_size": 14, "window_size": 112,
                                  "fullatt_block_indexes": [7, 15, 23, 31], "tokens_per_second": 2, "temporal_patch_size": 2}},
        image_tokens=23 * 17, tokens=QWEN_TOKENS, tokenizer=roles(None, "<|im_end|>", pad_token="<|endoftext|>", unk_token=None),
        files={"preprocessor_config.json": {**QWEN_PATCHES, "min_pixels": 3136, "max_pixels": 12845056, "processor_class": "Qwen2_5_VLProcessor",
                                            "image_processor_type": "Qwen2_5_VLImageProcessor"},  # of the first months
               "generation_config.json": {"bos_token_id": 151643, "eos_token_id": [151645, 151643], "repetition_penalty": 1.05}},
        template=chat.QWEN2_VL, published=older_qwen),
    "Qwen/Qwen3-VL-2B-Instruct": HubModel(
        config={"architectures": ["Qwen3VLForConditionalGeneration"], "image_token_id": 151655, "model_type": "qwen3_vl",
                "text_config": {"attention_bias": False, "bos_token_id": 151643, "dtype": "bfloat16", "eos_token_id": 151645, "head_dim": 128,
                                "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 262144,
                                "model_type": "qwen3_vl_text", "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
                                "rms_norm_eps": 1e-06, "rope_scaling": {"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"},
                                "rope_theta": 5000000, "tie_word_embeddings": True, "use_cache": True, "vocab_size": 151936},
                "tie_word_embeddings": True, "transformers_version": "4.57.0.dev0", "video_token_id": 151656,
                "vision_config": {"deepstack_visual_indexes": [5, 11, 17], "depth": 24, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 1024,
                                  "in_channels": 3, "intermediate_size": 4096, "model_type": "qwen3_vl", "num_heads": 16, "num_position_embeddings": 2304,
                                  "out_hidden_size": 2048, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2},
                "vision_end_token_id": 151653, "vision_start_token_id": 151652},
        image_tokens=20 * 15, tokens=QWEN_TOKENS, tokenizer=roles(None, "<|im_end|>", pad_token="<|endoftext|>", unk_token=None),
        files={"preprocessor_config.json": {"size": {"longest_edge": 16777216, "shortest_edge": 65536}, "patch_size": 16, "temporal_patch_size": 2,
                                            "merge_size": 2, "image_mean": HALF, "image_std": HALF, "processor_class": "Qwen3VLProcessor",
                                            "image_processor_type": "Qwen2VLImageProcessorFast"},
               "video_preprocessor_config.json": {"size": {"longest_edge": 25165824, "shortest_edge": 4096}, "patch_size": 16},
               "generation_config.json": {"eos_token_id": [151645, 151643], "pad_token_id": 151643, "temperature": 0.7, "top_p": 0.8}},
        template=chat.QWEN3_VL),
    "OpenGVLab/InternVL3-1B-hf": HubModel(
        config={"architectures": ["InternVLForConditionalGeneration"], "downsample_ratio": 0.5, "image_seq_length": 256, "image_token_id": 151667,
                "model_type": "internvl", "projector_hidden_act": "gelu",
                "text_config": {"_name_or_path": "./pretrained/Qwen2.5-32B-Instruct", "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0,
                                "bos_token_id": 151643, "eos_token_id": 151645, "hidden_act": "silu", "hidden_size": 896, "intermediate_size": 4864,
                                "max_position_embeddings": 32768, "max_window_layers": 70, "model_type": "qwen2", "num_attention_heads": 14,
                                "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
                                "rope_scaling": {"factor": 2.0, "rope_type": "dynamic", "type": "dynamic"}, "rope_theta": 1000000.0,
                                "sliding_window": None, "tie_word_embeddings": False, "torch_dtype": "bfloat16", "use_cache": True,
                                "use_sliding_window": False, "vocab_size": 151674},
                "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.52.0.dev0",
                "vision_config": {"architectures": ["InternVisionModel"], "attention_bias": True, "attention_dropout": 0.0, "dropout": 0.0,
                                  "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "hidden_size": 1024, "image_size": [448, 448],
                                  "initializer_factor": 0.1, "intermediate_size": 4096, "layer_norm_eps": 1e-06, "layer_scale_init_value": 0.1,
                                  "model_type": "internvl_vision", "norm_type": "layer_norm", "num_attention_heads": 16, "num_channels": 3,
                                  "num_hidden_layers": 24, "patch_size": [14, 14], "projection_dropout": 0.0, "torch_dtype": "bfloat16",
                                  "use_absolute_position_embeddings": True, "use_mask_token": False, "use_mean_pooling": True, "use_qk_norm": False},
                "vision_feature_layer": -1, "vision_feature_select_strategy": "default"},
        image_tokens=13 * 256,  # 4 x 3 tiles and the whole
        tokens={**QWEN_TOKENS, "<img>": 151665, "</img>": 151666, "<IMG_CONTEXT>": 151667},
        tokenizer=roles(None, "<|im_end|>", pad_token="<|endoftext|>",
                        extra_special_tokens={"context_image_token": "<IMG_CONTEXT>", "end_image_token": "</img>", "start_image_token": "<img>",
                                              "video_token": "<video>"},
                        context_image_token="<IMG_CONTEXT>", end_image_token="</img>", start_image_token="<img>", video_token="<video>"),
        files={"preprocessor_config.json": {**STEPS, "crop_size": None, "crop_to_patches": True, "data_format": "channels_first",
                                            "default_to_square": True, "device": None, "do_center_crop": None, "image_mean": [0.485, 0.456, 0.406],
                                            "image_processor_type": "GotOcr2ImageProcessorFast", "image_std": [0.229, 0.224, 0.225],
                                            "input_data_format": None, "max_patches": 12, "min_patches": 1, "processor_class": "InternVLProcessor",
                                            "resample": 3, "return_tensors": None, "size": {"height": 448, "width": 448}},
               "processor_config.json": {"image_seq_length": 256, "processor_class": "InternVLProcessor"},
               "generation_config.json": {"_from_model_config": True, "bos_token_id": 151643, "eos_token_id": 151645}},
        template=chat.INTERNVL3, template_file="chat_template.jinja", published=oldest_layout),
    "HuggingFaceTB/SmolVLM-256M-Instruct": HubModel(
        config={"architectures": ["Idefics3ForConditionalGeneration"], "image_token_id": 49190, "model_type": "idefics3", "scale_factor": 4,
                "text_config": {"_name_or_path": "None", "architectures": ["VLlama3ForCausalLM"], "head_dim": 64, "hidden_size": 576,
                                "intermediate_size": 1536, "is_llama_config": True, "max_position_embeddings": 8192, "model_type": "llama",
                                "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pad_token_id": 2,
                                "perceiver_config": {"model_type": "vllama3", "qk_layer_norms_perceiver": False}, "pixel_shuffle_factor": 4,
                                "qk_layer_norms": False, "rms_norm_eps": 1e-05, "rope_scaling": None, "rope_theta": 100000,
                                "tie_word_embeddings": False, "torch_dtype": "bfloat16", "use_resampler": False, "vocab_size": 49280},
                "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.46.0",
                "vision_config": {"hidden_size": 768, "image_size": 512, "intermediate_size": 3072, "max_image_size": {"longest_edge": 512},
                                  "model_type": "idefics3", "num_attention_heads": 12, "num_hidden_layers": 12, "patch_size": 16,
                                  "size": {"longest_edge": 2048}, "torch_dtype": "bfloat16", "use_base_siglip": True},
                "vocab_size": 49280},
        image_tokens=13 * 64,  # 2048 x 1536 in 4 x 3 tiles, and the whole
        tokens={"<|endoftext|>": 48900, "<|im_start|>": 48901, "<|im_end|>": 48902, "<fake_token_around_image>": 49189, "<image>": 49190,
                "<global-img>": 49152, "<end_of_utterance>": 49279, **{f"<row_{1 + i // 6}_col_{1 + i % 6}>": 49153 + i for i in range(36)}},
        tokenizer=roles("<|im_start|>", "<end_of_utterance>", pad_token="<|im_end|>", unk_token="<|endoftext|>",
                        additional_special_tokens=["<fake_token_around_image>", "<image>", "<end_of_utterance>"]),
        files={"preprocessor_config.json": {**STEPS, "do_image_splitting": True, "do_pad": True, "image_mean": HALF, "image_std": HALF,
                                            "image_processor_type": "Idefics3ImageProcessor", "max_image_size": {"longest_edge": 512},
                                            "processor_class": "Idefics3Processor", "resample": 1, "size": {"longest_edge": 2048}},
               "processor_config.json": {"image_seq_len": 64, "processor_class": "Idefics3Processor"},
               "generation_config.json": {"_from_model_config": True, "bos_token_id": 0, "eos_token_id": 49279, "pad_token_id": 2},
               "onnx/vision_encoder.onnx": None},
        template=SMOLVLM),
    "HuggingFaceM4/Idefics3-8B-Llama3": HubModel(
        config={"architectures": ["Idefics3ForConditionalGeneration"], "image_token_id": 128257, "model_type": "idefics3", "scale_factor": 2,
                "text_config": {"architectures": ["VLlama3ForCausalLM"], "bos_token_id": 128000, "eos_token_id": 128001, "hidden_size": 4096,
                                "intermediate_size": 14336, "max_position_embeddings": 131072, "model_type": "llama", "num_attention_heads": 32,
                                "num_hidden_layers": 32, "num_key_value_heads": 8, "pad_token_id": 128002, "rms_norm_eps": 1e-05,
                                "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                                                 "original_max_position_embeddings": 8192, "rope_type": "llama3"},
                                "rope_theta": 500000.0, "torch_dtype": "bfloat16", "vocab_size": 128259},
                "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.45.0.dev0",
                "vision_config": {"hidden_size": 1152, "image_size": 364, "intermediate_size": 4304, "model_type": "idefics3", "num_attention_heads": 16,
                                  "num_hidden_layers": 27, "patch_size": 14, "torch_dtype": "bfloat16"}},
        image_tokens=13 * 169,  # 1456 x 1092 in 4 x 3 tiles, and the whole
        tokens={"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001, "<fake_token_around_image>": 128256, "<image>": 128257,
                "<end_of_utterance>": 128258},
        tokenizer=roles("<|begin_of_text|>", "<|end_of_text|>", pad_token="<|end_of_text|>"),
        files={"preprocessor_config.json": {**STEPS, "do_image_splitting": True, "do_pad": True, "image_mean": HALF, "image_std": HALF,
                                            "image_processor_type": "Idefics3ImageProcessor", "max_image_size": {"longest_edge": 364},
                                            "processor_class": "Idefics3Processor", "resample": 1, "size": {"longest_edge": 1456}},
               "processor_config.json": {"image_seq_len": 169, "processor_class": "Idefics3Processor"},
               "generation_config.json": {"_from_model_config": True, "bos_token_id": 128000, "eos_token_id": [128001, 128258]}},
        template=SMOLVLM),
    "google/gemma-3-4b-it": HubModel(
        config={"architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999, "eoi_token_index": 256000, "eos_token_id": [1, 106],
                "image_token_index": 262144, "initializer_range": 0.02, "mm_tokens_per_image": 256, "model_type": "gemma3",
                "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34,
                                "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024},
                "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0",
                "vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304, "model_type": "siglip_vision_model",
                                  "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14, "vision_use_head": False}},
        image_tokens=256,
        tokens={"<pad>": 1000, "<eos>": 1001, "<bos>": 1002, "<start_of_turn>": 1105, "<end_of_turn>": 1106, "<start_of_image>": 255999,
                "<end_of_image>": 256000, "<image_soft_token>": 262144},
        tokenizer=roles("<bos>", "<eos>", pad_token="<pad>", boi_token="<start_of_image>", eoi_token="<end_of_image>", image_token="<image_soft_token>",
                        extra_special_tokens={"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}),
        files={"preprocessor_config.json": {**STEPS, "do_convert_rgb": None, "do_pan_and_scan": None, "image_mean": HALF, "image_std": HALF,
                                            "image_processor_type": "Gemma3ImageProcessor", "image_seq_length": 256, "pan_and_scan_max_num_crops": None,
                                            "pan_and_scan_min_crop_size": None, "pan_and_scan_min_ratio_to_activate": None,
                                            "processor_class": "Gemma3Processor", "resample": 2, "size": {"height": 896, "width": 896}},
               "processor_config.json": {"image_seq_length": 256, "processor_class": "Gemma3Processor"},
               "added_tokens.json": {"<image_soft_token>": 262144}, "tokenizer.model": None,
               "generation_config.json": {"bos_token_id": 2, "cache_implementation": "hybrid", "do_sample": True, "eos_token_id": [1, 106], "top_k": 64}},
        template=chat.GEMMA3, published=oldest_layout),
    "HuggingFaceTB/SmolLM2-135M-Instruct": HubModel(
        config={"architectures": ["LlamaForCausalLM"], "attention_bias": False, "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
                "hidden_size": 576, "intermediate_size": 1536, "is_llama_config": True, "max_position_embeddings": 8192, "mlp_bias": False,
                "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pad_token_id": 2,
                "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_interleaved": False, "rope_scaling": None, "rope_theta": 100000,
                "tie_word_embeddings": True, "torch_dtype": "bfloat16", "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}},
                "transformers_version": "4.42.3", "use_cache": True, "vocab_size": 49152},
        tokens={"<|endoftext|>": 48900, "<|im_start|>": 48901, "<|im_end|>": 48902}, tokenizer=roles("<|im_start|>", "<|im_end|>", pad_token="<|im_end|>"),
        files={"generation_config.json": {"bos_token_id": 1, "eos_token_id": 2}, "special_tokens_map.json": {"eos_token": "<|im_end|>"},
               "onnx/model.onnx": None, "runs/events.out": None},
        template=chat.SMOLLM2, template_file="tokenizer_config.json"),
    "meta-llama/Llama-3.2-1B": HubModel(  # not tuned to answer: it has no template
        config={"architectures": ["LlamaForCausalLM"], "attention_bias": False, "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 64,
                "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": False,
                "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "pretraining_tp": 1,
                "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                                                        "original_max_position_embeddings": 8192, "rope_type": "llama3"},
                "rope_theta": 500000.0, "tie_word_embeddings": True, "torch_dtype": "bfloat16", "transformers_version": "4.45.0.dev0", "use_cache": True,
                "vocab_size": 128256},
        tokens={"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001}, tokenizer=roles("<|begin_of_text|>", "<|end_of_text|>"),
        files={"generation_config.json": {"bos_token_id": 128000, "eos_token_id": 128001, "temperature": 0.6, "top_p": 0.9},
               "original/consolidated.00.pth": None, "original/tokenizer.model": None}),
    "mistralai/Mistral-7B-Instruct-v0.3": HubModel(
        config={"architectures": ["MistralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
                "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32,
                "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": None,
                "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.42.0.dev0", "use_cache": True, "vocab_size": 32768},
        tokens={"<unk>": 31000, "<s>": 31001, "</s>": 31002, "[INST]": 31003, "[/INST]": 31004}, tokenizer=roles("<s>", "</s>", unk_token="<unk>"),
        files={"generation_config.json": {"_from_model_config": True, "bos_token_id": 1, "eos_token_id": 2}, "consolidated.safetensors": None,
               "params.json": {"dim": 4096}, "tokenizer.model": None, "tokenizer.model.v3": None},
        template=chat.MISTRAL, template_file="tokenizer_config.json"),
}


def write_tokenizer(folder: Path, model: HubModel) -> None:
    """The demo's bytes with the model's special tokens under their ids; template where the model has it."""
    content = json.loads((DEMO_MODEL / "tokenizer.json").read_text())
    content["added_tokens"] = [{"id": number, "content": token, **PLAIN} for token, number in model.tokens.items()]
    (folder / "tokenizer.json").write_text(json.dumps(content))
    settings = dict(model.tokenizer)
    settings["added_tokens_decoder"] = {str(number): {"content": token, **PLAIN} for token, number in model.tokens.items()}
    if model.template is not None and model.template_file == "tokenizer_config.json":
        settings["chat_template"] = model.template
    elif model.template is not None and model.template_file.endswith(".json"):
        (folder / model.template_file).write_text(json.dumps({"chat_template": model.template}))
    elif model.template is not None:
        (folder / model.template_file).write_text(model.template)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def write_files(folder: Path, model: HubModel) -> None:
    """Everything but weights."""
    (folder / "config.json").write_text(json.dumps(model.config))
    write_tokenizer(folder, model)
    for name, content in model.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("" if content is None else json.dumps(content))

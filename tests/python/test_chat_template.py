# SPDX-License-Identifier: GPL-3.0-or-later
"""Rendering of chat templates against jinja2 in the environment transformers makes for it."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import DEMO_MODEL
from model_probe import probe, refusal
from transformers import AutoTokenizer
from transformers.utils.chat_template_utils import _compile_jinja_template

pytestmark = pytest.mark.oracle

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be <b>brief</b> & kind. "},
    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is  this?\n"}]},
    {"role": "assistant", "content": "A \"cat\"\\dog 😀"},
    {"role": "user", "content": "and now? "},
]
STRINGS = [{**m, "content": m["content"] if isinstance(m["content"], str) else m["content"][1]["text"]} for m in CHAT]
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "It's <é> & more",
                                           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "n": [1, 2.5, None, True]}}}]

# In the style of model repositories; each is (template, messages).
TEMPLATES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "chatml": ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
               "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}", STRINGS),
    "llama2": ("{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}"
               "{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}"
               "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
               "{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
               "{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
               "{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}", STRINGS),
    "llama3": ("{{- bos_token }}\n{%- if custom_tools is defined %}\n    {%- set tools = custom_tools %}\n{%- endif %}\n"
               "{%- if not tools is defined %}\n    {%- set tools = none %}\n{%- endif %}\n"
               "{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = messages[0]['content']|trim %}\n    {%- set messages = messages[1:] %}\n"
               "{%- else %}\n    {%- set system_message = \"\" %}\n{%- endif %}\n{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}\n"
               "{%- if tools is not none %}\n    {%- for t in tools %}\n        {{- t | tojson(indent=4) }}\n        {{- \"\\n\\n\" }}\n    {%- endfor %}\n{%- endif %}\n"
               "{{- system_message }}\n{{- \"<|eot_id|>\" }}\n{%- for message in messages %}\n"
               "    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}\n{%- endfor %}\n"
               "{%- if add_generation_prompt %}\n    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}\n{%- endif %}\n", STRINGS),
    "llava": ("{% for message in messages %}{% if message['role'] != 'system' %}{{ message['role'].upper() + ': '}}{% endif %}"
              "{# Render all images first #}{% if message['content'] is string %}{{ message['content'] }}{% else %}"
              "{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>\n' }}{% endfor %}"
              "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}{{ content['text'] + ' '}}{% endfor %}{% endif %}{% endfor %}"
              "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}", CHAT),
    "qwen2-vl": ("{% set image_count = namespace(value=0) %}{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
                 "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}<|im_start|>{{ message['role'] }}\n"
                 "{% if message['content'] is string %}{{ message['content'] }}<|im_end|>\n{% else %}{% for content in message['content'] %}"
                 "{% if content['type'] == 'image' or 'image' in content or 'image_url' in content %}{% set image_count.value = image_count.value + 1 %}"
                 "{% if add_vision_id %}Picture {{ image_count.value }}: {% endif %}<|vision_start|><|image_pad|><|vision_end|>"
                 "{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endif %}{% endfor %}"
                 "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}", CHAT),
    "gemma": ("{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set messages = messages[1:] %}{% endif %}{% for message in messages %}"
              "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}"
              "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
              "{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}", STRINGS),
    "idefics-macro": ("{%- macro render(parts) -%}\n{%- if parts is string -%}{{ parts }}{%- else -%}{%- for p in parts -%}"
                      "{%- if p.type == 'image' -%}<image>{%- else -%}{{ p.text | trim }}{%- endif -%}{%- endfor -%}{%- endif -%}\n{%- endmacro -%}\n"
                      "{% for m in messages %}\n{{ m.role | capitalize }}: {{ render(m.content) }}<end_of_utterance>\n{% endfor %}", CHAT),
    "generation": ("{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}"
                   "{% else %}[{{ m.role }}] {{ m.content }}\n{% endif %}{% endfor %}", STRINGS),
    "namespace-reverse": ("{%- set ns = namespace(last=-1, seen=[]) %}{%- for m in messages[::-1] %}{%- set i = messages | length - 1 - loop.index0 %}"
                          "{%- if ns.last < 0 and m.role == 'user' %}{%- set ns.last = i %}{%- endif %}{%- endfor %}last={{ ns.last }} {{ ns.seen }}", STRINGS),
    "tools-json": ("{%- for tool in tools %}\n{{ tool | tojson }}\n{{ tool.function | tojson(indent=2) }}\n{%- endfor %}"
                   "{{ tools[0]['function'].parameters.properties.items() | list }} {{ tools[0].function.parameters.n }}", STRINGS),
    "white-space": ("  {% if true %}  \n  a  \n  {%- if false %} x {% else %}\n\n b {%+ if true %} c {% endif +%}\n{% endif %}\n\t{# note #}\n d {{- ' e ' -}}  \n f\n  {% endif %}\n\n", STRINGS),
    "raw-and-comments": ("a {% raw %}{{ not.rendered }} {% if %}{% endraw %} b {#- gone -#} c\n{% raw -%}  x  {%- endraw %}\n", STRINGS),
    "loops": ("{% for k, v in {'a': 1, 'b': [2, 3]}.items() %}{{ loop.index }}/{{ loop.length }} {{ loop.revindex0 }} {{ k }}={{ v }} {{ loop.cycle('x', 'y') }}"
              "{{ ', ' if not loop.last }}{% endfor %}|{% for i in range(9) if i % 2 %}{% if i == 7 %}{% break %}{% endif %}{% if i == 3 %}{% continue %}{% endif %}"
              "{{ i }}{{ loop.previtem }}{{ loop.nextitem }} {% else %}none{% endfor %}|{% for x in [] %}y{% else %}empty{% endfor %}"
              "|{% for i in [1, 2] %}{% for j in 'ab' %}{{ loop.depth }}{{ i }}{{ j }}{% endfor %}{% endfor %}", STRINGS),
    "scopes": ("{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 3 %}{% endif %}{{ x }}"
               "{% set y %}  block {{ x }} {% endset %}[{{ y }}]{% set z | upper | trim %} abc {% endset %}[{{ z }}]{% set a, b = 1, 'q' %}{{ a }}{{ b }}"
               "{% filter upper %}shout {{ x }}{% endfilter %}", STRINGS),
    "operators": ("{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 5 }} {{ 1 + 2 * 3 - 4 }} {{ 'a' ~ 1 ~ none ~ true }} {{ 'ab' * 3 }} {{ [1] + [2] }} "
                  "{{ 1 < 2 <= 2 }} {{ 'a' in 'cat' }} {{ 3 not in [1, 2] }} {{ not 0 and 1 or 2 }} {{ 0 or '' or 'c' }} {{ 1 if 0 else 2 }} {{ 'u' if false }}|"
                  "{{ 1.0 }} {{ 0.1 + 0.2 }} {{ 1e20 }} {{ 1e-7 }} {{ -3 | abs }} {{ 10 / 5 }} {{ true + 1 }} {{ (1, 2) | length }} {{ 2 | string ~ 'x' }}", STRINGS),
    "strings": ("{{ ' x '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'a,b,,c'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a-b-c'.split('-', 1) }}|{{ 'a-b-c'.rsplit('-', 1)[-1] }}|"
                "{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('x', 'bc')) }}|{{ 'aXbX'.replace('X', '-') }}|{{ 'éa😀b'[1:3] }}|{{ 'abc'[::-1] }}|{{ 'abc'[-1] }}|"
                "{{ 'hello world'.title() }}|{{ 'HeLLo'.capitalize() }}|{{ 'ÀÉ'.lower() }}|{{ 'straße'.upper() }}|{{ '\\u00e9\\n\\t' ~ \"it's\" }}|{{ ['it\\'s', \"q\"] }}|"
                "{{ 'abcabc'.find('ca') }} {{ 'abcabc'.count('b') }}|{{ '-'.join(['a', 'b']) }}|{{ 'prefix.x'.removeprefix('prefix.') }}|{{ 'a\nb\r\nc'.splitlines() }}|"
                "{{ 'one\\\n two' }}|{{ 'x' 'y' }}|{{ '12'.isdigit() }}", STRINGS),
    "filters": ("{{ [3, 1, 2] | sort }} {{ [3, 1, 2] | sort(reverse=true) | first }} {{ ['b', 'A'] | sort }} {{ [1, 2, 3] | last }} {{ [1, 2] | join(', ') }} "
                "{{ messages | map(attribute='role') | join('/') }} {{ ['a', 'b'] | map('upper') | list }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }} "
                "{{ [0, 1, 2] | select | list }} {{ [1, 2, 3] | reject('odd') | list }} {{ messages | rejectattr('role', 'in', ['user']) | map(attribute='role') | list }} "
                "{{ missing | default('d') }} {{ '' | default('e', true) }} {{ none | default('f') }} {{ 'abc' | reverse }} {{ [1, 1, 2] | unique | list }} {{ [1, 2] | sum }} "
                "{{ {'b': 1, 'a': 2} | dictsort }} {{ {'b': 1} | items | list }} {{ '3' | int + 1 }} {{ 'x' | int(9) }} {{ '2.5' | float }} {{ 2.567 | round(1) }} {{ [4, 9] | max }}{{ [4, 9] | min }} "
                "{{ 'a\n\nb' | indent(2) }} {{ '<a>' | e }} {{ 'x' | length }} {{ '  t ' | trim }} {{ 'a b' | replace(' ', '_') }} {{ {'k': 'é<'} | tojson }} {{ 'T e' | lower }}", STRINGS),
    "tests": ("{{ x is defined }} {{ messages is defined }} {{ none is none }} {{ 'a' is string }} {{ {} is mapping }} {{ [] is iterable }} {{ [] is sequence }} {{ 1 is number }} "
              "{{ 1.5 is float }} {{ true is boolean }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 1 is eq 1 }} {{ 2 is in [1, 2] }} {{ x is undefined or false }} {{ 'a' is not number }} "
              "{{ true is true }} {{ 1 is sameas true }} {{ range is callable }} {{ 'abc' is lower }} {{ 3 is gt(2) }} {{ x is not defined and 1 is integer }}", STRINGS),
    "mappings": ("{{ messages[0].get('role') }} {{ messages[0].get('x') }} {{ messages[0].get('x', 'y') }} {{ messages[0].keys() | list }} {{ 'role' in messages[0] }} "
                 "{{ messages[0]['nothing'] }} {{ messages[0].nothing is defined }} {{ {'a': {'b': [1, {'c': 2}]}}.a.b[1].c }} {{ {1: 'x'}[1] }} {{ dict(a=1) }} {{ messages[-1]['role'] }} {{ messages[9] is defined }}", STRINGS),
    "macro-defaults": ("{% macro f(a, b='x', c=none) %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ f(1) }}{{ f(1, c=3) }}{{ f(1, 2, 3) }}{{ f() }}", STRINGS),
    "newline-at-the-end": ("a\n{% if true %}\nb\n{% endif %}\n", STRINGS),
}


def variables(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What transformers passes to a template."""
    return {"messages": messages, "tools": TOOLS, "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>"}


@pytest.mark.parametrize("name", TEMPLATES)
def test_renders_as_jinja_does(name: str) -> None:
    """F114: generation blocks, namespaces, slices, macros and the white-space rules."""
    source, messages = TEMPLATES[name]
    expected = _compile_jinja_template(source).render(**variables(messages))
    (result,) = probe("template", stdin=[{"source": source, "variables": variables(messages)}])
    assert result == {"text": expected}


@pytest.mark.parametrize(("source", "said"), [
    ("a\n  {% if x %}", "line 2, column 13: the template ends, but elif or else or endif is missing"),
    ("{{ 'a' + 1 }}", "line 1, column 8: '+' does not work between a string and an integer"),
    ("é {{ missing.x }}", "line 1, column 13: 'x' is asked of an undefined value"),
    ("\n\n{% include 'x' %}", "line 3, column 4: the tag 'include' is not supported"),
    ("{{ raise_exception('no system role') }}", "the template refuses: no system role"),
    ("{{ x | nosuch }}", "line 1, column 8: the filter 'nosuch' is not supported"),
    ("{{ [1, 2 }}", "'}' closes nothing"),
    ("{{ 'abc }}", "a string is never closed"),
    ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "too many steps"),
    ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "macros call each other too deeply"),
    ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nested too deeply"),
    ("{% set x = [] %}{{ x.append(1) }}", "'append' would change its object"),
    ("{{ 'a' * 99999999 }}", "a repetition is too long"),
])
def test_errors_name_line_and_column(source: str, said: str) -> None:
    """F114: a hostile or unknown template ends with a sentence."""
    (result,) = probe("template", stdin=[{"source": source, "variables": {}}])
    assert said in result["error"]


def folder_with(tmp_path: Path, files: dict[str, str]) -> Path:
    """A model folder that holds only these files."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


STRING_TEMPLATE = "{% for m in messages %}{{ m.role + ':' + m.content }}{% endfor %}"
PARTS_TEMPLATE = "{% for m in messages %}{{ m.content[-1].text }}{% for p in m.content if p.type == 'image' %}<image>{% endfor %}{% endfor %}"
MESSAGE = [{"role": "user", "text": "hi", "images": 1}]


def test_content_shape_is_the_one_the_template_wants(tmp_path: Path) -> None:
    """F116."""
    folder_with(tmp_path, {"chat_template.jinja": STRING_TEMPLATE})
    result = probe("chat", tmp_path, stdin=MESSAGE)
    assert result["text"] == "user:<image>\nhi" and not result["parts"]
    assert "one string" in result["notes"][0]
    folder_with(tmp_path, {"chat_template.jinja": PARTS_TEMPLATE})
    result = probe("chat", tmp_path, stdin=MESSAGE)
    assert result["text"] == "hi<image>" and result["parts"] and not result["notes"]


def test_template_is_taken_from_the_documented_places_in_order(tmp_path: Path) -> None:
    """F117."""
    folder_with(tmp_path, {"tokenizer_config.json": "{}"})
    assert probe("chat", tmp_path, stdin=MESSAGE)["origin"] is None
    config = {"bos_token": {"content": "<s>"}, "chat_template": [{"name": "tool_use", "template": "t"},
                                                                 {"name": "default", "template": "{{ bos_token }}C" + PARTS_TEMPLATE}]}
    folder_with(tmp_path, {"tokenizer_config.json": json.dumps(config)})
    assert probe("chat", tmp_path, stdin=MESSAGE)["text"] == "<s>Chi<image>"
    folder_with(tmp_path, {"chat_template.json": json.dumps({"chat_template": "B" + PARTS_TEMPLATE})})
    assert probe("chat", tmp_path, stdin=MESSAGE)["text"] == "Bhi<image>"
    folder_with(tmp_path, {"chat_template.jinja": "A" + PARTS_TEMPLATE})
    result = probe("chat", tmp_path, stdin=MESSAGE)
    assert result["text"] == "Ahi<image>" and result["origin"].endswith("chat_template.jinja")


def test_several_named_templates_without_a_default_are_refused(tmp_path: Path) -> None:
    """F117: no silent choice."""
    config = {"chat_template": [{"name": "rag", "template": "r"}, {"name": "tool_use", "template": "t"}]}
    folder_with(tmp_path, {"tokenizer_config.json": json.dumps(config)})
    assert '"rag", "tool_use"' in refusal("chat", tmp_path, stdin=MESSAGE)


def test_demo_template_renders_as_transformers_does() -> None:
    """The template the demo model ships."""
    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODEL)
    content = [{"type": "image"}, {"type": "text", "text": "ABC?"}]
    chat: list[Any] = [{"role": "user", "content": content}]
    expected = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    result = probe("chat", DEMO_MODEL, stdin=[{"role": "user", "text": "ABC?", "images": 1}])
    assert result["text"] == expected == "<s><image>\nQ: ABC?\nA: "

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
    "methods-2": ("{{ x.swapcase() }}|{{ x | title }}|{{ \"Dog's\".title() }}{{ \"Dog's\" | title }}|{{ x.partition(' ') }}|{{ x.rpartition('z') }}|{{ x.index('w') }}|{{ 'ab'.ljust(5) }}|{{ 'ab'.rjust(5, '*') }}|"
                  "{{ 'ab'.center(5) }}|{{ 'abc'.center(6, '.') }}|{{ '-7'.zfill(4) }}|{{ '\tx'.expandtabs(4) }}|{{ x.find('o', 5) }} {{ x.find('o', 5, 6) }} {{ x.startswith('wO', 6) }} {{ x.endswith(('z', 'z)')) }} {{ x.count('o', 5) }}|"
                  "{{ 'é'.isalpha() }} {{ 'a1'.isalnum() }} {{ '\u00a0'.isspace() }} {{ 'AB1'.isupper() }} {{ 'ab'.islower() }} {{ 'Ab Cd'.istitle() }} {{ '٣'.isdigit() }}|"
                  "{{ ' a  b c '.split(maxsplit=1) }} {{ ' a  b c '.rsplit(None, 1) }} {{ '\u3000a\u2028b'.split() }} {{ ''.split() }} {{ ''.split(',') }}|{{ ['\u200b', '\x7f', '\101'] }}", STRINGS),
    "formats": ("{{ '%s-%02d-%.2f|%-4s|%4s|%%|%x|%+d' % ('a', 3, 2.5, 'b', 'c', 255, 7) }} {{ '%s' % 'z' }} {{ '%(k)s' % {'k': 1} }} {{ '%d' % 2.9 }} {{ '%r' % 'q' }} {{ '%s and %d' | format('a', 3) }} {{ '%(a)s' | format(a=1) }} "
                "{{ '{} {}'.format('a', 2) }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{a}/{b:>4}|{c:<4}|{d:^5}|{{}}'.format(a=1, b='x', c='y', d='z') }} {{ '{:.2f} {:,} {:05d} {:+} {:x} {:e} {:.1%} {:é^7}'.format(3.14159, 1234567, -42, 5, 255, 12345.678, 0.256, 'mid') }}", STRINGS),
    "calls": ("{% macro m(a, b=2) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 3, 4, z=5) }}{{ m(*[7, 8, 9], **{'y': 1}) }}"
              "{% macro box(items) %}{% for i in items %}[{{ caller(i, loop.index) }}]{% endfor %}{% endmacro %}{% call(u, k) box([4, 5]) %}{{ u }}-{{ k }}-{{ bos_token }}{% endcall %}"
              "{% macro plain() %}<{{ caller() }}>{% endmacro %}{% call plain() %}inner{% endcall %}{% macro maybe() %}{{ caller is defined }}{% endmacro %}{{ maybe() }}", STRINGS),
    "more-scopes": ("{% with a = 1, b = 2 %}{% set c = 3 %}{{ a + b + c }}{% endwith %}{{ a is defined }}{{ c is defined }}{% generation %}{% set g = 1 %}{{ g }}{% endgeneration %}{{ g is defined }}"
               "{% set z %}{% set q = 1 %}v{{ q }}{% endset %}{{ z }}{{ q is defined }}{% filter upper %}{% set w = 'x' %}abc{{ w }}{% endfilter %}{{ w is defined }}"
               "{% for i, (a, b) in [(1, (2, 3))] %}{{ i }}{{ a }}{{ b }}{% endfor %}{% set (c, d) = (3, 4) %}{{ c }}{{ d }}{% set t = 1, %}{{ t }}", STRINGS),
    "sequences": ("{% if messages | selectattr('role', 'equalto', 'nobody') %}lazy lists are true{% endif %}{{ (messages | map(attribute='role')) is sequence }}{{ messages[0].items() is sequence }}{{ messages[0].keys() is iterable }}"
                  "{{ (1, 2, 3)[:2] }}{{ (1,) + (2,) }}{{ (1, 2) == [1, 2] }}{{ [1, 2] < [1, 3] }}{{ [5, 6, 7] | batch(2) | list }}{{ [5, 6, 7] | batch(2, 0) | list }}{{ [[1], [2]] | sum(start=[]) }}"
                  "{{ dict([('a', 1)], b=2) }}{{ {'a': 1, 'a': 2} }}{{ {true: 1, none: 2, 1.5: 3} | tojson }}{{ namespace(**{'a': 1}).a }}{% set j = joiner('; ') %}{% for i in [1, 2] %}{{ j() }}{{ i }}{% endfor %}", STRINGS),
    "numbers": ("{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 2.675 | round(2) }} {{ 2.5 | round }} {{ 42 | round }} {{ 1234 | round(-2) }} {{ '1f' | int(0, 16) }} {{ 1e16 }} {{ 1e-5 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** -1 }} {{ 7 / 2 }}", STRINGS),
    "safe-text": ("{{ '<a>' | safe + '<b>' }} {{ ('<a>' | safe) ~ '<b>' }} {{ '<b>' + ('<a>' | e) }} {{ ('<a>' | e) | e }} {{ ('<a>' | e) | forceescape }} {{ 'a b&c/é' | urlencode }} {{ 'abcdef ghi jklmn' | truncate(9) }} "
                  "{{ 'abcdef ghi jklmn' | truncate(9, true, '..') }} {{ 'ab' | center(5) }} {{ 'a b-c' | wordcount }} {{ 'trim' is filter }}", STRINGS),
    "dates": ("{{ strftime_now('%d %B %Y') }}|{{ strftime_now('%Y-%m-%d %A %a %b %j %y %m %%') }}|{{ strftime_now('') }}|{{ strftime_now(format='%d %b') }}", STRINGS),
    "newline-at-the-end": ("a\n{% if true %}\nb\n{% endif %}\n", STRINGS),
}


def variables(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What transformers passes to a template."""
    return {"messages": messages, "tools": TOOLS, "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>",
            "x": "Hello wOrld foo-bar (baz)"}


@pytest.fixture(scope="module")
def rendered() -> dict[str, Any]:
    """What ours makes of every template: one process for all."""
    results = probe("template", stdin=[{"source": source, "variables": variables(messages)} for source, messages in TEMPLATES.values()])
    return dict(zip(TEMPLATES, results, strict=True))


@pytest.mark.parametrize("name", TEMPLATES)
def test_renders_as_jinja_does(name: str, rendered: dict[str, Any]) -> None:
    """F114: generation blocks, namespaces, slices, macros and the white-space rules."""
    source, messages = TEMPLATES[name]
    assert rendered[name] == {"text": _compile_jinja_template(source).render(**variables(messages))}


BROKEN = [
    ("a\n  {% if x %}", "line 2, column 13: the template ends, but elif or else or endif is missing"),
    ("{{ 'a' + 1 }}", "line 1, column 8: '+' does not work between a string and an integer"),
    ("é {{ missing.x }}", "line 1, column 13: 'x' is asked of an undefined value"),
    ("\n\n{% include 'x' %}", "line 3, column 4: the tag 'include' is not supported"),
    ("{{ raise_exception('no system role') }}", "the template refuses: no system role"),
    ("{{ x | nosuch }}", "line 1, column 8: the filter 'nosuch' is not supported"),
    ("{{ [1, 2 }}", "'}' closes nothing"),
    ("{{ x }", "'}' closes nothing"),
    ("{{ 'abc }}", "a string is never closed"),
    ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "too many steps"),
    ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "macros call each other too deeply"),
    ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nested too deeply"),
    ("{% set x = [] %}{{ x.append(1) }}", "'append' would change its object"),
    ("{{ 'a' * 99999999 }}", "a repetition is too long"),
    ("{{ 'a'.ljust(99999999) }}", "a repetition is too long"),
    ("{{ '%999999999d' % 1 }}", "a width or precision is too large"),
    ("{{ '{a.b}'.format(a=1) }}", "the format field 'a.b' is not supported"),
    ("{{ '%d' % 'x' }}", "the format '%d' does not suit a string"),
    ("{{ '%s %s' % 'x' }}", "a format needs more values"),
    ("{{ 'a'.index('b') }}", "the text does not hold 'b'"),
    ("{% macro f(a) %}{% endmacro %}\n{{ f(b=1) }}", "line 2, column 5: the macro 'f' takes no argument 'b'"),
    ("{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "2 arguments are given, at most 1 are taken"),
    ("{% call 1 %}{% endcall %}", "'call' needs the call of a macro"),
    ("{% for a, b in [(1, 2, 3)] %}{% endfor %}", "3 values are to be unpacked into 2 names"),
    ("{% for " + "(" * 5000 + "a" + ")" * 5000 + " in x %}", "nested too deeply"),
]


@pytest.fixture(scope="module")
def refusals() -> list[dict[str, str]]:
    """What ours says to every broken template: one process for all."""
    results: list[dict[str, str]] = probe("template", stdin=[{"source": source, "variables": {}} for source, _ in BROKEN])
    return results


@pytest.mark.parametrize("case", range(len(BROKEN)))
def test_errors_name_line_and_column(case: int, refusals: list[dict[str, str]]) -> None:
    """F114: a hostile or unknown template ends with a sentence."""
    assert BROKEN[case][1] in refusals[case]["error"], BROKEN[case][0][:80]


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
    """F117: the order of transformers' processors; test_chat_families.py asks them."""
    folder_with(tmp_path, {"tokenizer_config.json": "{}"})
    assert probe("chat", tmp_path, stdin=MESSAGE)["origin"] is None
    config = {"bos_token": {"content": "<s>"}, "chat_template": [{"name": "tool_use", "template": "t"},
                                                                 {"name": "default", "template": "{{ bos_token }}C" + PARTS_TEMPLATE}]}
    folder_with(tmp_path, {"tokenizer_config.json": json.dumps(config)})
    assert probe("chat", tmp_path, stdin=MESSAGE)["text"] == "<s>Chi<image>"
    folder_with(tmp_path, {"chat_template.jinja": "A" + PARTS_TEMPLATE})
    result = probe("chat", tmp_path, stdin=MESSAGE)
    assert result["text"] == "Ahi<image>" and result["origin"].endswith("chat_template.jinja")
    assert "tokenizer_config.json holds another chat template, which is not used" in result["notes"][0]
    folder_with(tmp_path, {"chat_template.json": json.dumps({"chat_template": "B" + PARTS_TEMPLATE})})
    assert probe("chat", tmp_path, stdin=MESSAGE)["text"] == "Bhi<image>"
    folder_with(tmp_path, {"processor_config.json": json.dumps({"chat_template": "P" + PARTS_TEMPLATE})})
    assert probe("chat", tmp_path, stdin=MESSAGE)["text"] == "Phi<image>"


def test_the_same_template_in_two_places_needs_no_note(tmp_path: Path) -> None:
    """F117."""
    folder_with(tmp_path, {"chat_template.jinja": PARTS_TEMPLATE, "tokenizer_config.json": json.dumps({"chat_template": PARTS_TEMPLATE})})
    assert probe("chat", tmp_path, stdin=MESSAGE)["notes"] == []


def test_errors_name_the_file_and_what_else_can_be_done(tmp_path: Path) -> None:
    """F114."""
    folder_with(tmp_path, {"chat_template.jinja": "a\n{% for m in messages %}{{ m.content | shout }}{% endfor %}"})
    said = refusal("chat", tmp_path, stdin=MESSAGE)
    assert "chat_template.jinja, line 2, column 39: the filter 'shout' is not supported" in said and "plain prompt" in said


def test_several_named_templates_without_a_default_are_refused(tmp_path: Path) -> None:
    """F117: no silent choice."""
    config = {"chat_template": [{"name": "rag", "template": "r"}, {"name": "tool_use", "template": "t"}]}
    folder_with(tmp_path, {"tokenizer_config.json": json.dumps(config)})
    assert '"rag", "tool_use"' in refusal("chat", tmp_path, stdin=MESSAGE)


def test_named_template_files_without_a_default_are_refused(tmp_path: Path) -> None:
    """F117: also where newer exports keep them."""
    (tmp_path / "additional_chat_templates").mkdir()
    folder_with(tmp_path / "additional_chat_templates", {"tool_use.jinja": "t", "rag.jinja": "r"})
    assert '"rag", "tool_use"' in refusal("chat", tmp_path, stdin=MESSAGE)
    folder_with(tmp_path, {"chat_template.jinja": STRING_TEMPLATE})
    assert probe("chat", tmp_path, stdin=MESSAGE)["text"] == "user:<image>\nhi"


def test_demo_template_renders_as_transformers_does() -> None:
    """The template the demo model ships."""
    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODEL)
    content = [{"type": "image"}, {"type": "text", "text": "ABC?"}]
    chat: list[Any] = [{"role": "user", "content": content}]
    expected = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    result = probe("chat", DEMO_MODEL, stdin=[{"role": "user", "text": "ABC?", "images": 1}])
    assert result["text"] == expected == "<s><image>\nQ: ABC?\nA: "

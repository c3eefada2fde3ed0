# SPDX-License-Identifier: GPL-3.0-or-later
"""Chat templates written in the style of each model family, and conversations to render with them.

The wording is ours; what is kept of each family is how its template is built: which tags, loops,
namespaces, macros, filters and white-space marks it relies on.
"""
from __future__ import annotations

from typing import Any

Chat = list[dict[str, Any]]

# Vicuna style of LLaVA-1.5: parts sorted by type, roles in capitals, a generation block.
LLAVA_15 = """\
{% for message in messages %}{% if message['role'] != 'system' %}{{ message['role'].upper() + ': ' }}{% endif %}
{#- pictures stand before the words -#}
{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>\\n' }}{% endfor %}
{%- if message['role'] != 'assistant' %}{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part['text'] + ' ' }}{% endfor %}
{%- else %}{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{% generation %}{{ part['text'] + ' ' }}{% endgeneration %}{% endfor %}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"""

# LLaVA-NeXT on Mistral.
LLAVA_NEXT_MISTRAL = """\
{% for message in messages %}{% if message.role == 'system' %}{{ '<<SYS>>\\n' + message.content[0].text + '\\n<</SYS>>\\n\\n' }}
{%- elif message.role == 'user' %}{{ '[INST] ' }}{% for part in message.content | selectattr('type', 'equalto', 'image') %}{{ '<image>\\n' }}{% endfor %}
{%- for part in message.content | selectattr('type', 'equalto', 'text') %}{{ part.text }}{% endfor %}{{ ' [/INST]' }}
{%- elif message.role == 'assistant' %}{{ ' ' }}{% generation %}{{ message.content[0].text }}{% endgeneration %}{{ eos_token }}
{%- else %}{{ raise_exception('no role is called ' ~ message.role) }}{% endif %}{% endfor %}"""

# LLaVA-NeXT on Vicuna: a default system turn.
LLAVA_NEXT_VICUNA = """\
{%- if messages[0]['role'] != 'system' -%}{{- 'Two people look at pictures and talk. ' -}}{%- endif -%}
{%- for message in messages -%}
  {%- if message['role'] == 'system' -%}{{- message['content'][0]['text'] ~ ' ' -}}{%- continue -%}{%- endif -%}
  {{- {'user': 'USER', 'assistant': 'ASSISTANT'}[message['role']] + ': ' -}}
  {%- for part in message['content'] -%}
    {%- if part['type'] == 'image' -%}{{- '<image>\\n' -}}{%- elif part['type'] == 'text' -%}{{- part['text'] -}}{%- endif -%}
  {%- endfor -%}
  {{- ' ' if message['role'] == 'user' else '</s>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- 'ASSISTANT:' -}}{%- endif -%}"""

# Qwen2-VL and Qwen2.5-VL: counters in namespaces, strings or parts.
QWEN2_VL = """\
{% set images = namespace(value=0) %}{% set videos = namespace(value=0) %}{% for message in messages %}{% if loop.first and message['role'] != 'system' %}<|im_start|>system
You look at pictures.<|im_end|>
{% endif %}<|im_start|>{{ message['role'] }}
{% if message['content'] is string %}{{ message['content'] }}<|im_end|>
{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' or 'image' in part or 'image_url' in part %}{% set images.value = images.value + 1 %}{% if add_vision_id %}Picture {{ images.value }}: {% endif %}<|vision_start|><|image_pad|><|vision_end|>{% elif part['type'] == 'video' or 'video' in part %}{% set videos.value = videos.value + 1 %}{% if add_vision_id %}Video {{ videos.value }}: {% endif %}<|vision_start|><|video_pad|><|vision_end|>{% elif 'text' in part %}{{ part['text'] }}{% endif %}{% endfor %}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

# Qwen3-VL: tools, tool calls in several steps, the last question found from behind.
QWEN3_VL = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {%- if messages[0].content is string %}
            {{- messages[0].content }}
        {%- else %}
            {%- for part in messages[0].content %}{%- if 'text' in part %}{{- part.text }}{%- endif %}{%- endfor %}
        {%- endif %}
        {{- '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\nThese functions can be called:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nCall as <tool_call>\\n{\\"name\\": <name>, \\"arguments\\": <object>}\\n</tool_call>.<|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' }}
        {%- if messages[0].content is string %}{{- messages[0].content }}{%- else %}{%- for part in messages[0].content %}{%- if 'text' in part %}{{- part.text }}{%- endif %}{%- endfor %}{%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set image_count = namespace(value=0) %}
{%- set ns = namespace(multi_step=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" and not(message.content is string and message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == "user" %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- if message.content is string %}
            {{- message.content }}
        {%- else %}
            {%- for part in message.content %}
                {%- if part.type == 'image' or 'image' in part or 'image_url' in part %}
                    {%- set image_count.value = image_count.value + 1 %}
                    {%- if add_vision_id %}Picture {{ image_count.value }}: {% endif -%}
                    <|vision_start|><|image_pad|><|vision_end|>
                {%- elif 'text' in part %}
                    {{- part.text }}
                {%- endif %}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- if message.content is string %}{{- message.content }}{%- else %}{%- for part in message.content %}{%- if 'text' in part %}{{- part.text }}{%- endif %}{%- endfor %}{%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and message.content) or (not loop.first) %}{{- '\\n' }}{%- endif %}
                {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
                {{- '<tool_call>\\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}{{- tool_call.arguments }}{%- else %}{{- tool_call.arguments | tojson }}{%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' if loop.index0 >= ns.last or loop.last else '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {%- if message.content is string %}{{- message.content }}{%- endif %}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

# InternVL3, hf layout: the picture context token on its own line.
INTERNVL3 = """\
{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n'}}{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}{{ '<IMG_CONTEXT>\\n' }}{% elif part['type'] == 'video' %}{{ '<video>\\n' }}{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}{{'<|im_end|>\\n'}}{% endfor %}{% if add_generation_prompt %}{{'<|im_start|>assistant\\n' }}{% endif %}"""

# SmolVLM and Idefics3: the colon depends on the first part, lines end with a token.
SMOLVLM = """\
<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}{% if message['content'][0]['type'] == 'image' %}{{':'}}{% else %}{{': '}}{% endif %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}{% elif line['type'] == 'image' %}{{ image_token }}{% endif %}{% endfor %}<end_of_utterance>
{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"""

# Gemma 3: the system words move into the first user turn; roles must alternate.
GEMMA3 = """\
{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set turns = messages[1:] -%}
{%- else -%}
    {%- set prefix = "" -%}
    {%- set turns = messages -%}
{%- endif -%}
{%- for message in turns -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("user and assistant must take turns") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("this content is of no known type") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
"""

# Qwen3.5: macros over parts, thoughts cut out of older turns, thinking switched on and off.
QWEN35 = """\
{%- set image_count = namespace(value=0) %}
{%- macro render_content(content, counts, is_system=false) %}
    {%- if content is string %}
        {{- content }}
    {%- elif content is iterable and content is not mapping %}
        {%- for item in content %}
            {%- if 'image' in item or 'image_url' in item or item.type == 'image' %}
                {%- if is_system %}{{- raise_exception('A system turn holds no pictures.') }}{%- endif %}
                {%- if counts %}{%- set image_count.value = image_count.value + 1 %}{%- endif %}
                {%- if add_vision_id %}{{- 'Picture ' ~ image_count.value ~ ': ' }}{%- endif %}
                {{- '<|vision_start|><|image_pad|><|vision_end|>' }}
            {%- elif 'text' in item %}
                {{- item.text }}
            {%- else %}
                {{- raise_exception('A part is of no known type.') }}
            {%- endif %}
        {%- endfor %}
    {%- elif content is none or content is undefined %}
        {{- '' }}
    {%- else %}
        {{- raise_exception('Content is of no known type.') }}
    {%- endif %}
{%- endmacro %}
{%- if not messages %}{{- raise_exception('There are no messages.') }}{%- endif %}
{%- if tools and tools is iterable and tools is not mapping %}
    {{- '<|im_start|>system\\n# Tools\\n\\n<tools>' }}
    {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
    {{- "\\n</tools>" }}
    {%- if messages[0].role == 'system' %}
        {%- set content = render_content(messages[0].content, false, true)|trim %}
        {%- if content %}{{- '\\n\\n' + content }}{%- endif %}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {%- set content = render_content(messages[0].content, false, true)|trim %}
    {{- '<|im_start|>system\\n' + content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(multi_step=true, last_query=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" %}
        {%- set content = render_content(message.content, false)|trim %}
        {%- if not(content.startswith('<tool_response>') and content.endswith('</tool_response>')) %}
            {%- set ns.multi_step = false %}{%- set ns.last_query = index %}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = render_content(message.content, true)|trim %}
    {%- if message.role == "system" %}
        {%- if not loop.first %}{{- raise_exception('The system turn comes first.') }}{%- endif %}
    {%- elif message.role == "user" %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thoughts = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thoughts = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thoughts = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- set thoughts = thoughts|trim %}
        {%- if loop.index0 > ns.last_query %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + thoughts + '\\n</think>\\n\\n' + content }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls and message.tool_calls is iterable and message.tool_calls is not mapping %}
            {%- for tool_call in message.tool_calls %}
                {%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}
                {%- if loop.first %}{%- if content|trim %}{{- '\\n\\n' }}{%- endif %}{%- else %}{{- '\\n' }}{%- endif %}
                {{- '<tool_call>\\n<function=' + tool_call.name + '>\\n' }}
                {%- if tool_call.arguments is mapping %}
                    {%- for name, value in tool_call.arguments|items %}
                        {{- '<parameter=' + name + '>\\n' }}
                        {%- set value = value | tojson | safe if value is mapping or (value is sequence and value is not string) else value | string %}
                        {{- value }}
                        {{- '\\n</parameter>\\n' }}
                    {%- endfor %}
                {%- endif %}
                {{- '</function>\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.previtem and loop.previtem.role != "tool" %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
        {%- if not loop.last and loop.nextitem.role != "tool" %}{{- '<|im_end|>\\n' }}{%- elif loop.last %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- else %}
        {{- raise_exception('A role is unexpected.') }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- else %}
        {{- '<think>\\n' }}
    {%- endif %}
{%- endif %}
"""

# Llama 3: the date, tools as indented JSON, "ipython" results.
LLAMA3 = """\
{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- the system turn is taken out, so that it can be written where it belongs #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if builtin_tools is defined or tools is not none %}{{- "Environment: ipython\\n" }}{%- endif %}
{%- if builtin_tools is defined %}
    {{- "Tools: " + builtin_tools | reject('equalto', 'code_interpreter') | join(", ") + "\\n\\n"}}
{%- endif %}
{{- "Today is " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {{- "Answer with JSON for a call.\\n\\n" }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("One call at a time.") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {%- if builtin_tools is defined and tool_call.name in builtin_tools %}
            {{- "<|python_tag|>" + tool_call.name + ".call(" }}
            {%- for arg_name, arg_val in tool_call.arguments | items %}
                {{- arg_name + '="' ~ arg_val ~ '"' }}
                {%- if not loop.last %}{{- ", " }}{%- endif %}
            {%- endfor %}
            {{- ")" }}
        {%- else %}
            {{- '{"name": "' + tool_call.name + '", ' }}
            {{- '"parameters": ' }}
            {{- tool_call.arguments | tojson }}
            {{- "}" }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

# SmolLM2: ChatML with a system turn of its own.
SMOLLM2 = """\
{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
A helper speaks.<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}"""

# Mistral: tools before the last user turn, turns counted in a namespace.
MISTRAL = """\
{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("user and assistant take turns") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}{{- '"' + key + '": "' + val + '"' }}{%- else %}{{- '"' + key + '": ' + val|tojson }}{%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif (message.tool_calls is defined and message.tool_calls is not none) %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}{{- raise_exception("ids have nine characters") }}{%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}{%- set content = message.content.content %}{%- else %}{%- set content = message.content %}{%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' + content|string + ', "call_id": "' + message.tool_call_id|default('none', true) + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("a role is not known") }}
    {%- endif %}
{%- endfor %}
"""

TEXT_ONLY = {"llama-3": LLAMA3, "smollm2": SMOLLM2, "mistral": MISTRAL}
MULTIMODAL = {
    "llava-1.5": LLAVA_15, "llava-next-mistral": LLAVA_NEXT_MISTRAL, "llava-next-vicuna": LLAVA_NEXT_VICUNA,
    "qwen2-vl": QWEN2_VL, "qwen3-vl": QWEN3_VL, "internvl3": INTERNVL3, "smolvlm": SMOLVLM, "gemma-3": GEMMA3,
    "qwen3.5": QWEN35,
}

TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "weather", "description": "Says what it's like: <é> & \"more\" 😀",
                                      "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}},
                                                     "required": ["city"]}, "return": {"type": "string"}}},
    {"type": "function", "function": {"name": "clock", "description": "", "parameters": {"type": "object", "properties": {}, "bounds": [1, 2.5, None, True]}}},
]


def turn(role: str, text: str, pictures: int = 0) -> dict[str, Any]:
    """A message in parts, pictures first."""
    return {"role": role, "content": [{"type": "image"}] * pictures + [{"type": "text", "text": text}]}


def as_strings(chat: Chat) -> Chat:
    """The same conversation with contents as strings; pictures are lost."""
    return [{**m, "content": "".join(p.get("text", "") for p in m["content"]) if isinstance(m["content"], list) else m["content"]} for m in chat]


CHATS: dict[str, Chat] = {
    "one question": [turn("user", " What is  this?\n")],
    "one picture": [turn("user", "What is this?", 1)],
    "two pictures": [turn("user", "Which is larger: <a> or {{ b }}?", 2)],
    "picture behind the words": [{"role": "user", "content": [{"type": "text", "text": "Look: "}, {"type": "image"}, {"type": "text", "text": " é 中文 😀"}]}],
    "system": [turn("system", "  Be <b>brief</b> & kind. "), turn("user", "Who?", 1)],
    "several turns": [turn("system", "Be brief."), turn("user", "One?", 1), turn("assistant", " It's \"one\".\\n "), turn("user", "Two?", 1),
                      turn("assistant", "<think>\nhm, {x}\n</think>\n\nTwo."), turn("user", "Three?")],
    "answered": [turn("user", "One?"), turn("assistant", "1")],
    "roles out of order": [turn("assistant", "I begin."), turn("user", "No.")],
    "unknown role": [turn("user", "Hi"), turn("critic", "Bad.")],
}
CALL = {"id": "call00001", "type": "function", "function": {"name": "weather", "arguments": {"city": "Köln \"am\" Rhein", "days": 2, "more": {"a": [1, None]}}}}
TOOL_CHATS: dict[str, Chat] = {
    "tools offered": [turn("system", "Use tools."), turn("user", "Weather?")],
    "tools called": [turn("user", "Weather?"), {"role": "assistant", "content": "", "tool_calls": [CALL]},
                     {"role": "tool", "content": "{\"sun\": true}", "tool_call_id": "call00001"}],
    "two results": [turn("user", "Weather?"), {"role": "assistant", "content": "I look.", "reasoning_content": "Which?", "tool_calls": [CALL, CALL]},
                    {"role": "tool", "content": "rain"}, {"role": "tool", "content": "sun"}, turn("assistant", "Both."), turn("user", "Thanks.")],
}

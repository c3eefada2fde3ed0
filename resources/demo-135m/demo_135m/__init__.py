# SPDX-License-Identifier: GPL-3.0-or-later
"""The 135M demo: a pretrained language model with a small tower that lets it read documents."""

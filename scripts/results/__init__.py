# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the eviction policies on fresh documents and writes the README's section "Results"."""

# SPDX-License-Identifier: GPL-3.0-or-later
"""How the demo model under `resources/demo-model` was made: documents, training, export."""

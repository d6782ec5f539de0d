# SPDX-License-Identifier: Apache-2.0
"""Headway's Python tools: the bench driver, the rivals it measures beside us, reports."""

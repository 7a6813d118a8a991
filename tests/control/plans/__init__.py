"""Tests of plans for derivatives within a budget of memory."""

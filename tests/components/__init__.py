"""Tests of the components package."""

"""Tests of autograder/classroom/."""

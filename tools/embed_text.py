"""Prints a file as one C string literal: embed_text.py FILE > text.inc"""
import sys

from embed_templates import c_string

with open(sys.argv[1], encoding="utf-8") as file:
    print(c_string(file.read()))

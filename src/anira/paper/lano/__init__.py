"""Does expected depth follow the parser's work on LANO?"""

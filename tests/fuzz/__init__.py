"""What must hold for any file, setting, interrupt and input, tried on as many as one likes.

``python tests/fuzz/run.py KIND`` does; a kind is a module with cases, in the form of
`workers.Kind`.
"""

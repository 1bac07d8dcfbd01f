import traceback

stack = traceback.extract_stack()

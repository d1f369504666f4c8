"""The stack on this machine: an emulator of AWS, the real `sam build` and `sam deploy` against it, and the demo."""

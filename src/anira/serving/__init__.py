"""A small HTTP server: completions in OpenAI's style, with the depth of every token.

    service = Service(model, tokenizer, name="mano", limits=Limits(max_tokens=64))
    with open_socket("127.0.0.1", 8000) as listening:
        serve(service, listening, host="127.0.0.1", report=print)

One request goes this way: `app.py` reads it within its limits, `asking.py` turns its JSON into options, `service.py`
hands the prompt to the engine and follows it, `text.py` turns tokens into text, `answering.py` writes the answer.
"""

from anira.serving.app import make_app
from anira.serving.limits import Limits
from anira.serving.running import Server, is_loopback, open_socket, serve
from anira.serving.service import Service

__all__ = ["Limits", "Server", "Service", "is_loopback", "make_app", "open_socket", "serve"]

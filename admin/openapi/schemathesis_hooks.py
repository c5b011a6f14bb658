"""What schemathesis cannot know of this API, so that it gets further than to a refusal."""

import re
import uuid

import schemathesis

URL = re.compile(r"https://[^\x00-\x20\x7f\\]+")


@schemathesis.hook
def map_headers(context, headers):
    # An Idempotency-Key is one request's; a short generated one meets again
    # under another body. What is invalid stays as it is.
    for name, value in list((headers or {}).items()):
        if name.lower() == "idempotency-key" and isinstance(value, str) and value.strip() and len(value) < 200:
            headers[name] = f"{value}-{uuid.uuid4()}"
    return headers


@schemathesis.hook
def map_body(context, body):
    # Random text after https:// is hardly ever a public host.
    links = body.get("links") if isinstance(body, dict) else None
    for link in links if isinstance(links, list) else []:
        url = link.get("url") if isinstance(link, dict) else None
        if isinstance(url, str) and len(url) <= 2048 and URL.fullmatch(url):
            link["url"] = f"https://loja.example.com/{len(url)}"
    return body

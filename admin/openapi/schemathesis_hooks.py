"""What schemathesis cannot know of this API, so that it gets further than to a refusal."""

import os
import re
import uuid

import schemathesis

# What .ci/fuzz-api has made in the store, so that operations find something.
ORDER, INFLUENCER, STATEMENT = (os.environ.get("FUZZ_" + name, "") for name in ("ORDER", "INFLUENCER", "STATEMENT"))

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
    # An influencer that is there, where the body names one by its id.
    if INFLUENCER and isinstance(body, dict) and isinstance(body.get("influencer_id"), str) and len(body["influencer_id"]) == 36:
        body["influencer_id"] = INFLUENCER
    return body


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    # About half of the calls name the order and the statement that are there.
    for name, known in (("orderId", ORDER), ("id", STATEMENT)):
        value = (path_parameters or {}).get(name)
        if known and isinstance(value, str) and len(value) % 2 == 0:
            path_parameters[name] = known
    return path_parameters

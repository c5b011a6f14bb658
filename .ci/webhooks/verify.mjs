// Verifies messages with the JavaScript library of Standard Webhooks, as main.go does with the Go library.
import { Webhook } from "standardwebhooks";

let text = "";
for await (const part of process.stdin) text += part;
const accepts = ({ secret, headers, body }) => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};
process.stdout.write(JSON.stringify(JSON.parse(text).map(accepts)));

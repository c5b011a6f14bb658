// A shop's server with Segment's library for Node.js: it tells of COUNT events, and prints how many the library
// says that it has delivered, and why others were not.
import { Analytics } from "@segment/analytics-node";

const { EDGE, WRITE_KEY, COUNT } = process.env;
const analytics = new Analytics({ writeKey: WRITE_KEY, host: EDGE, path: "/segment/v1/batch", flushAt: 5, flushInterval: 200, maxRetries: 30 });
const delivered = [];
const failed = [];
const calls = [];
for (let n = 0; n < +COUNT; n++) {
  calls.push(
    new Promise((done) =>
      analytics.track({ event: "Server Seen", userId: "u-" + n, properties: { n } }, (error, ctx) => {
        (error || ctx?.failedDelivery?.() ? failed : delivered).push(error ? String(error) : n);
        done();
      }),
    ),
  );
  await new Promise((done) => setTimeout(done, 100));
}
await Promise.all(calls);
await analytics.closeAndFlush();
console.log(JSON.stringify({ delivered: delivered.sort((a, b) => a - b), failed }));

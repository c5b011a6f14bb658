// A shop's page with Segment's library for browsers. shop(how, count) tells of events by its two ways to send.
import { AnalyticsBrowser } from "@segment/analytics-next";

window.shop = (how, count) => {
  const strategy = how == "batching" ? { deliveryStrategy: { strategy: "batching", config: { size: 5, timeout: 300 } } } : {};
  const backoff = { backoffConfig: { maxRetryCount: 100, baseBackoffInterval: 0.2, maxBackoffInterval: 1 } };
  const analytics = AnalyticsBrowser.load(
    { writeKey: window.COMPANY, cdnURL: window.EDGE + "/segment" },
    { integrations: { "Segment.io": { ...strategy, httpConfig: backoff } } },
  );
  window.failed = [];
  analytics.ready(() => analytics.instance.on("error", (error) => window.failed.push(String(error.reason || error))));
  analytics.page();
  analytics.identify({ email: "ana@example.com" });
  let n = 0;
  const timer = setInterval(() => {
    analytics.track("Page Seen", { n, how });
    if (++n == count) clearInterval(timer);
  }, 100);
  return analytics.then(() => "loaded");
};

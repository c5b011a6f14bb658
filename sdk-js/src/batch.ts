/** The body of a request (docs/wire.md). sentAt is stamped at each attempt, by the clock that made the timestamps. */
export const batchOf = (companyId: string, events: { text_?: string }[], dropped?: string): string =>
  '{"companyId":' + JSON.stringify(companyId) + ',"sentAt":"' + new Date().toISOString() + '"' + (dropped ? ',"dropped":' + dropped : "") + ',"events":[' + events.map((e) => e.text_) + "]}";

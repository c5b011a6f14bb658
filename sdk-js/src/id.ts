/** A UUIDv7 (RFC 9562): 48 bits of milliseconds and 72 of randomness. */
export const uuid = (now: number, random = crypto.getRandomValues(new Uint8Array(9))): string => {
  let hex = now.toString(16).padStart(12, 0 as any);
  for (const byte of random) hex += (byte + 256).toString(16).slice(1);
  return hex.replace(/(.{8})(.{4})(...)(...)/, "$1-$2-7$3-8$4-");
};

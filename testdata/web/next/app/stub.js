/** The first script of the snippet in docs/sdk.md: no call is an error, also before the second has loaded. */
export const stub = `
  window.tributary = window.tributary || [];
  ["init", "track", "page", "identify", "reset", "consent", "optOut", "optIn", "getVisitorId", "flush", "debug"].forEach(function (call) {
    tributary[call] = tributary[call] || function () {
      tributary.length > 999 || tributary.push([call, Date.now(), arguments]);
      return Promise.resolve();
    };
  });
`;

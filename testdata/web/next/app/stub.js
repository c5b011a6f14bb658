/** The first script of the snippet in docs/sdk.md: no call is an error, also before the second has loaded. */
export const stub = `
  window.tributary = window.tributary || [];
  ["init", "track", "page", "identify", "reset", "consent", "optOut", "optIn", "getVisitorId", "flush", "debug"].forEach(function (call) {
    tributary[call] = tributary[call] || function () {
      var args = arguments;
      return new Promise(function (done) {
        tributary.length > 999 || tributary.push([call, Date.now(), args, done]);
        setTimeout(done, 5000);
      });
    };
  });
`;

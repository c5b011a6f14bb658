// Storage may be missing, full or forbidden (private windows, sandboxed frames):
// every access may throw, and no error may reach the shop.

export const attempt = <T>(f: () => T): T | undefined => {
  try {
    return f();
  } catch {}
};

let policy: any;

/** An address of ours, as a page wants it that requires Trusted Types for scripts: by the policy "tributary". */
export const trusted = (url: string): string => {
  policy ||= attempt(() => (window as any).trustedTypes.createPolicy("tributary", { createScriptURL: (own: string) => own }));
  return policy ? policy.createScriptURL(url) : url;
};

export const get = (key: string): string | undefined => attempt(() => localStorage[key]);
export const put = (key: string, value: string): unknown => attempt(() => (localStorage[key] = value));
export const del = (key: string): unknown => attempt(() => delete localStorage[key]);

/** The names of the keys that begin with prefix. */
export const keys = (prefix: string): string[] => attempt(() => Object.keys(localStorage).filter((key) => key.startsWith(prefix))) || [];

export const cookie = (name: string): string | undefined => attempt(() => document.cookie.match("(^|; )" + name + "=([^;]+)")?.[2]);

/**
 * Sets a cookie for 400 days, which is the most that browsers keep one (RFC 6265bis),
 * on the widest domain the browser takes. That is the registrable one: wider ones
 * ("br", "com.br") are refused. No value deletes it. Returns that domain, "" for
 * the host alone, undefined where no cookie can be set.
 */
export const setCookie = (name: string, value?: string): string | undefined =>
  attempt(() => {
    let domain = "";
    for (const label of [...location.hostname.split(".").reverse(), ""]) {
      domain = label && label + (domain && "." + domain); // the last time without
      document.cookie = name + "=" + value + ";path=/;SameSite=Lax;max-age=" + (value ? 34560000 : 0) + ";domain=" + domain + (location.protocol > "https" ? ";Secure" : "");
      if (cookie(name) == value) return domain;
    }
  });

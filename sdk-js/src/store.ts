// Storage may be missing, full or forbidden (private windows, sandboxed frames):
// every access may throw, and no error may reach the shop.

export function attempt<T>(f: () => T): T | undefined {
  try {
    return f();
  } catch {
    return undefined;
  }
}

export const get = (key: string): string | null | undefined => attempt(() => localStorage.getItem(key));
export const put = (key: string, value: string): boolean => !!attempt(() => (localStorage.setItem(key, value), true));
export const del = (key: string): void => attempt(() => localStorage.removeItem(key));

export const tabGet = (key: string): string | null | undefined => attempt(() => sessionStorage.getItem(key));
export const tabPut = (key: string, value: string): void => attempt(() => sessionStorage.setItem(key, value));
export const tabDel = (key: string): void => attempt(() => sessionStorage.removeItem(key));

/** The names of the keys that begin with prefix. */
export function keys(prefix: string): string[] {
  return attempt(() => Object.keys(localStorage).filter((key) => key.indexOf(prefix) == 0)) || [];
}

export function cookie(name: string): string | undefined {
  const found = attempt(() => document.cookie.split("; ").filter((c) => c.indexOf(name + "=") == 0)[0]);
  return found && found.slice(name.length + 1);
}

/**
 * Sets a cookie on the widest domain the browser takes, which is the
 * registrable one: wider ones ("com.br") are refused. maxAge is in seconds.
 * Returns that domain, or undefined where no cookie can be set.
 */
export function setCookie(name: string, value: string, maxAge: number): string | undefined {
  return attempt(() => {
    const rest = "; path=/; SameSite=Lax; max-age=" + maxAge + (location.protocol == "https:" ? "; Secure" : "");
    const labels = location.hostname.split(".");
    for (let n = labels.length == 1 || /^[\d.]+$|:/.test(location.hostname) ? 0 : 2; n <= labels.length; n++) {
      const domain = n ? labels.slice(-n).join(".") : location.hostname;
      document.cookie = name + "=" + value + (n ? "; domain=" + domain : "") + rest;
      if (maxAge ? cookie(name) == value : !cookie(name)) return domain;
      if (!n) return;
    }
  });
}

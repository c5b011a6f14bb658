import createClient from "openapi-fetch";

export const client = (url, key, options = {}) =>
  createClient({ ...options, baseUrl: url, headers: { ...options.headers, Authorization: `Bearer ${key}` } });

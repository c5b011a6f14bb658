import type { Client, ClientOptions } from "openapi-fetch";
import type { paths } from "./openapi.js";

export type { components, operations, paths } from "./openapi.js";

/**
 * A client of the admin API.
 * @param url of the API: `https://admin.example.com/admin/v1`, or `…/sandbox/admin/v1`
 * @param key an API key: `trb_live_…`, or `trb_test_…` of the sandbox
 * @param options of openapi-fetch, such as `fetch`; `headers` must be a plain object
 * @returns a client whose `GET`, `POST`, `PUT` and `DELETE` take a path of the API. Each resolves to `data` or `error`, with `response`,
 *   and rejects only where there was no answer.
 */
export function client(
  url: string,
  key: string,
  options?: Omit<ClientOptions, "baseUrl" | "headers"> & { headers?: Record<string, string> },
): Client<paths>;

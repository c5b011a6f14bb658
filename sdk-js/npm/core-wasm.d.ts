/** Turns a body of raw envelopes into canonical events, JSON text. now is in Unix milliseconds. */
export type Core = (body: string, now: number) => string;
/** Loads the core. bytes are those of core.wasm, for hosts that cannot read files. */
export declare function load(bytes?: BufferSource): Promise<Core>;
/** Where core.wasm is. */
export declare const beside: () => URL;

/** Files alone: no server of Next's is needed. */
export default { output: "export", trailingSlash: true };

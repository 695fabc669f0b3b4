/** The newest revision of MCP. */
export const revision = '2026-07-28';

/** A request of the 2026 revision, whole. */
export function modern(method: string, params: object = {}, id: number | string = 1) {
  const name = 'name' in params && typeof params.name === 'string' ? { 'mcp-name': params.name } : {};
  return {
    headers: { 'mcp-protocol-version': revision, 'mcp-method': method, ...name },
    body: {
      jsonrpc: '2.0',
      id,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': revision,
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
  };
}

/** The same by a client of 2025, after its handshake. */
export function legacy(method: string, params: object = {}, id: number | string = 1) {
  return { headers: { 'mcp-protocol-version': '2025-11-25' }, body: { jsonrpc: '2.0', id, method, params } };
}

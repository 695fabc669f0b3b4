import { deviceGrant, identityPaths, loginPaths } from '#contracts';

/** What may be asked for over MCP, each a protected resource of its own (RFC 9728, RFC 8707). */
export type McpPath = '/mcp' | '/mcp/agent';

const wellKnown = '/.well-known/oauth-protected-resource';

export const metadataPath = (path: McpPath): string => `${wellKnown}${path}`;

/** Who gives tokens for the resource, and how they are shown (RFC 9728). */
export function resourceMetadata(publicUrl: string, path: McpPath) {
  const base = publicUrl.replace(/\/+$/, '');
  return {
    resource: `${base}${path}`,
    authorization_servers: [base],
    bearer_methods_supported: ['header'],
    resource_name: path === '/mcp' ? 'Longshore' : 'Longshore for agents',
  };
}

export const serverMetadataPath = '/.well-known/oauth-authorization-server';

/** Where tokens are had: agents by their secret, command lines by a person's browser (RFC 8414). No way leads over a redirect. */
export function serverMetadata(publicUrl: string) {
  const base = publicUrl.replace(/\/+$/, '');
  return {
    issuer: base,
    token_endpoint: `${base}${loginPaths.token}`,
    device_authorization_endpoint: `${base}${loginPaths.deviceAuthorization}`,
    jwks_uri: `${base}${identityPaths.jwks}`,
    grant_types_supported: ['client_credentials', deviceGrant],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  };
}

/** The challenge of a refused request: where to learn who gives tokens, and nothing of any operation (A5.6, S1.12). */
export function challengeOf(publicUrl: string, path: McpPath, hadToken: boolean): string {
  const where = `resource_metadata="${publicUrl.replace(/\/+$/, '')}${metadataPath(path)}"`;
  return hadToken ? `Bearer error="invalid_token", ${where}` : `Bearer ${where}`;
}

const url = /^[a-z][a-z0-9+.-]*:\/\/[^/]*(.*)$/i;

/**
 * Returns the path of a node from a link address. Some SDKs write `orders`, others `/orders` or a URL with the host of the
 * connection, such as `amqps://localhost:5672/orders`. The attach reply must repeat the address as the client wrote it.
 */
export function nodePath(address: string): string {
  const path = url.exec(address)?.[1];
  return (path === undefined ? address : decoded(path)).replace(/^\/+|\/+$/g, '');
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // a percent sign that begins no escape: the name is looked up as it is
  }
}

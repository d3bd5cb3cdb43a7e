/**
 * Whether a binding asks for an object of an SDK (`sdkBinding: true`), which its worker creates. Libraries declare it by this
 * property; a binding without it gets the content.
 */
export function hasSdkBinding(options: unknown): boolean {
  const { properties } = Object(options) as { readonly properties?: unknown }; // anything else has none
  const { supportsDeferredBinding: asked } = Object(properties) as { readonly supportsDeferredBinding?: unknown };
  return asked === true || (typeof asked === 'string' && asked.toLowerCase() === 'true');
}

// Bytes come as a Buffer where the caller sent base64, and go as base64 where the handler returns them.
// This one only turns them around.
export default async (picture, { setHeader, logger }) => {
  if (!Buffer.isBuffer(picture)) throw new TypeError('send the picture as application/octet-stream');
  logger.info('turning %d bytes around', picture.length);
  setHeader('content-type', 'application/octet-stream');
  return picture.toReversed();
};

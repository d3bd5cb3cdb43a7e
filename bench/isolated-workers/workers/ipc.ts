process.once('disconnect', () => process.exit());
process.on('message', (message) => process.send?.(message));

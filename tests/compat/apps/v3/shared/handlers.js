exports.queueOut = async function (context, item, extra) {
  context.bindings.copy = [item, { dequeueCount: context.bindingData.dequeueCount }];
  return { extra, same: context.bindings.item === item, id: context.bindingData.id };
};
exports.another = () => undefined;

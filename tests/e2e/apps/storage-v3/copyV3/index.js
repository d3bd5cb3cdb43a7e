module.exports = async function (context, myBlob) {
  context.log(
    `copyV3 ${context.bindingData.blobTrigger} ${context.bindingData.name} ${Buffer.isBuffer(myBlob)} ${String(myBlob)}`,
  );
  return myBlob;
};

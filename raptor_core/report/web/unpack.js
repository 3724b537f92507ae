'use strict';
(async () => {
  if (!('DecompressionStream' in window)) {
    document.getElementById('too-old').hidden = false;
    return;
  }
  const packed = document.getElementById('packed').textContent;
  const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  const script = document.createElement('script');
  script.textContent = await new Response(stream).text();
  document.body.append(script);
})();

// A large sheet seen through a box: it scrolls as any box does, by dragging too, zooms, and fits itself to paper.

const ZOOM = {step: 1.25, smallest: 0.1, largest: 2.5, readable: 0.6};
const PAPER = {width: 690, smallest: 0.55}; // what has to be scaled further down is an outline on paper

// content: an element of a known size, set by resize(width, height).
function makeView(content) {
  const sheet = make("div", {class: "sheet"}, content);
  const box = make("div", {class: "canvas"}, sheet);
  let scale = 1, size = {width: 1, height: 1};

  function apply(wanted) {
    scale = Math.min(ZOOM.largest, Math.max(ZOOM.smallest, wanted));
    content.style.transform = `scale(${scale})`;
    sheet.style.width = `${scale * size.width}px`;
    sheet.style.height = `${scale * size.height}px`;
  }

  function resize(width, height) {
    size = {width, height};
    content.style.width = `${width}px`;
    content.style.height = `${height}px`;
    apply(scale);
  }

  // About the middle of what is seen, or about the pointer.
  function zoom(factor, at = {x: box.clientWidth / 2, y: box.clientHeight / 2}) {
    const x = (box.scrollLeft + at.x) / scale, y = (box.scrollTop + at.y) / scale;
    apply(scale * factor);
    box.scrollLeft = x * scale - at.x;
    box.scrollTop = y * scale - at.y;
  }

  function showAll() {
    apply(1); // the box is as high as the sheet, up to a limit
    apply(Math.min(1, box.clientWidth / size.width, box.clientHeight / size.height));
  }

  // At first: all of it if it can be read then, else as much as can.
  function showReadable(width) {
    showAll();
    if (scale < ZOOM.readable) apply(Math.min(1, Math.max(ZOOM.readable, box.clientWidth / width)));
  }

  function reveal(left, top, width, height) {
    const at = {left: scale * left, top: scale * top, right: scale * (left + width), bottom: scale * (top + height)};
    const seen = at.left >= box.scrollLeft && at.right <= box.scrollLeft + box.clientWidth
      && at.top >= box.scrollTop && at.bottom <= box.scrollTop + box.clientHeight;
    if (seen) return;
    box.scrollLeft = (at.left + at.right - box.clientWidth) / 2;
    box.scrollTop = (at.top + at.bottom - box.clientHeight) / 2;
  }

  // Calls onPaper(whether it fits) before the page is printed.
  function fitToPaper(onPaper) {
    let before = scale;
    addEventListener("beforeprint", () => {
      before = scale;
      const wanted = Math.min(1, PAPER.width / size.width);
      onPaper(wanted >= PAPER.smallest);
      apply(wanted);
    });
    addEventListener("afterprint", () => apply(before));
  }

  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const edge = box.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), {x: event.clientX - edge.left, y: event.clientY - edge.top});
  }, {passive: false});
  letDrag(box);
  return {box, resize, zoom, showAll, showReadable, reveal, fitToPaper};
}

// Dragging with the mouse; fingers scroll the box by themselves.
function letDrag(box) {
  let start = null;
  box.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0 || event.target.closest("button")) return;
    start = {x: event.clientX, y: event.clientY, left: box.scrollLeft, top: box.scrollTop, moved: false};
  });
  addEventListener("pointermove", (event) => {
    if (start === null) return;
    const x = event.clientX - start.x, y = event.clientY - start.y;
    start.moved ||= Math.hypot(x, y) > 5;
    if (!start.moved) return;
    box.classList.add("dragging");
    box.scrollLeft = start.left - x;
    box.scrollTop = start.top - y;
  });
  const stop = () => {
    if (start?.moved) {
      const ignore = (event) => event.stopPropagation(); // the end of a drag is no click
      addEventListener("click", ignore, {capture: true});
      setTimeout(() => removeEventListener("click", ignore, {capture: true}));
    }
    box.classList.remove("dragging");
    start = null;
  };
  addEventListener("pointerup", stop);
  addEventListener("pointercancel", stop);
}

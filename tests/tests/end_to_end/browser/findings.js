// Looks at the report from inside, and leaves what it finds in the page as JSON, or tells it the page around this one.
addEventListener("load", async () => {
  await allFlamesBegun();
  // The place of the findings must not be part of what is found.
  const found = look();
  if (window.parent !== window) {
    window.parent.postMessage(found, "*");
    return;
  }
  const place = document.createElement("pre");
  place.id = "findings";
  place.textContent = JSON.stringify(found);
  document.body.append(place);
});

// A flamegraph begins when it is scrolled to.
async function allFlamesBegun() {
  for (const frame of document.querySelectorAll("figure.flame > iframe")) {
    frame.scrollIntoView();
    for (let tries = 0; tries < 100 && !frame.contentWindow.searchbtn; tries += 1) {
      await new Promise(done => setTimeout(done, 20));
    }
  }
  scrollTo(0, 0);
}

function look() {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const pictures = all("figure > svg, figure > iframe").map(picture => {
    const { width, height } = picture.getBoundingClientRect();
    return { kind: `${picture.parentElement.className} ${picture.tagName}`, width, height };
  });
  const ids = all("[id]").map(element => element.id);
  const links = all("a[href]").map(link => link.getAttribute("href"));
  return {
    width: innerWidth,
    needed: document.documentElement.scrollWidth,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    paper: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color,
    picturePaper: getComputedStyle(document.querySelector("figure.picture .tl-bg")).fill,
    headings: all("h2, h3").map(heading => heading.textContent),
    pictures,
    links,
    deadLinks: links.filter(link => !link.startsWith("#") || !document.getElementById(link.slice(1))),
    idsTwice: ids.filter((id, index) => ids.indexOf(id) !== index && !id.startsWith("tl-")),
    folds: all("details").map(fold),
    tips: all("figure.picture > svg, figure.lanes > svg").map(tip),
    flames: all("figure.flame > iframe").map(flame),
  };
}

// Whether a fold has more to show when it is open.
function fold(details) {
  const height = () => details.getBoundingClientRect().height;
  details.open = false;
  const closed = height();
  details.querySelector("summary").click();
  const open = height();
  details.open = false;
  return open > closed;
}

// What the mouse is told near the middle of a picture. A label, or the line from the label to the peak, may lie over one place.
function tip(picture) {
  picture.scrollIntoView({ block: "center" });
  const { left, top, width, height } = picture.getBoundingClientRect();
  const told = [0.3, 0.37, 0.44, 0.51].map(part => {
    const under = document.elementFromPoint(left + width * part, top + height * 0.5);
    return under?.querySelector?.("title")?.textContent ?? "";
  });
  return told.find(text => text !== "") ?? "";
}

// What a frame of a flamegraph tells under the mouse, and how many frames are hidden when it is clicked, and after a click on
// the lowest one.
function flame(frame) {
  const page = frame.contentDocument;
  const frames = [...page.querySelectorAll("#frames > g")];
  const width = one => Number(one.querySelector("rect").getAttribute("width").replace("%", ""));
  const whole = frames.reduce((widest, one) => (width(one) > width(widest) ? one : widest));
  const narrow = frames.find(one => width(one) < width(whole) / 2);
  const hidden = () => page.querySelectorAll("#frames .hide").length;
  const send = (kind, one) => one.dispatchEvent(new frame.contentWindow.MouseEvent(kind, { bubbles: true }));
  send("mouseover", narrow);
  const told = page.getElementById("details").textContent;
  send("click", narrow);
  const zoomed = hidden();
  send("click", whole);
  return { frames: frames.length, told, zoomed, back: hidden() };
}

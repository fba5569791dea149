// SPDX-License-Identifier: BSD-2-Clause
// look.js - looks at the page in the frame "page" and lists its faults in the element "faults". WIDTH, FIGURES and IDS are
// set by the page that holds the frame (page.sh).
window.onload = function () {
	const page = document.getElementById('page').contentDocument, faults = [];
	const fault = (text) => faults.push(text);

	if (page.documentElement.scrollWidth > WIDTH)
		fault('the page is ' + page.documentElement.scrollWidth + ' pixels wide, the window ' + WIDTH);
	for (const id of IDS)
		if (!page.getElementById(id))
			fault('no element has the id ' + id);
		else if (!page.getElementById(id).innerText.trim())
			fault('the heading ' + id + ' has no text');
	for (const link of page.querySelectorAll('a[href^="#"]'))
		if (!page.getElementById(link.getAttribute('href').slice(1)))
			fault('a link leads nowhere: ' + link.getAttribute('href'));
	for (const element of page.querySelectorAll('img,script,link,iframe,object'))
		fault('the page holds a <' + element.tagName.toLowerCase() + '>');
	const figures = page.querySelectorAll('figure');
	if (figures.length !== FIGURES)
		fault(figures.length + ' pictures instead of ' + FIGURES);
	figures.forEach((figure, i) => {
		const svg = figure.querySelector('svg'), box = svg && svg.getBoundingClientRect();
		const drawn = svg ? [...svg.querySelectorAll('path,polygon,rect,use')].filter((shape) => {
			const size = shape.closest('defs') ? { width: 0, height: 0 } : shape.getBoundingClientRect();
			return size.width + size.height > 1;
		}) : [];
		if (!svg || box.width < 250 || box.height < 60)
			fault('picture ' + i + ' has no size');
		else if (drawn.length < 5)
			fault('picture ' + i + ' shows nothing');
		else if (![...svg.querySelectorAll('text')].some((text) => text.textContent.trim()))
			fault('picture ' + i + ' has no text');
	});
	for (const table of page.querySelectorAll('table'))
		if (table.rows.length < 2)
			fault('a table has no rows');
		else if (WIDTH >= 1000 && table.offsetWidth > table.parentElement.clientWidth)
			fault('a table is cut, ' + table.offsetWidth + ' of ' + table.parentElement.clientWidth + ' pixels: ' +
				table.rows[0].innerText.slice(0, 60));
	document.getElementById('faults').textContent = faults.length ? faults.join('\n') : 'none';
};

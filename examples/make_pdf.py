"""Write the one PDF of the handbook, ``vault/power-resilience-plan.pdf``.

The text lives here; run this file after changing it. The same text and the same release of fpdf2
give the same bytes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF, FontFace

TARGET = Path(__file__).parent / "handbook" / "vault" / "power-resilience-plan.pdf"
TITLE = "Power resilience plan 2025-2027"
INK, ACCENT, SHADE = (30, 34, 40), (0, 84, 112), (228, 238, 242)
ROW_MM = 7.0
HEADING_ROOM_MM = 45.0  # a heading stands with some of its text

# Blocks are parted by blank lines. "# " opens a heading, "- " a list item, "> " a quotation, and
# a block whose lines begin with "|" is a table.
TEXT = """
Prepared by Priya Raman, site engineer, with Jens Petersen for the ship and Yuki Tanabe for the
gauges. Approved by the board of the Tolsay Coastal Institute on 14 March 2025. Amounts are in
euros without tax.

# 1. What this plan is for

In January 2023 the seed vault lost its mains at 21:47, and four and a half hours later it lost the
generator that was meant to replace them. Chamber B, with 4,530 accessions, rose above its limit of
-15 °C. In October 2024 a battery charger failed on the research vessel Alca, a trip to Gull Skerry
was lost, and an error in our tide data lived on until it caused a false flood warning. The two
events have little in common on the surface. In both, one piece of electrical equipment stood
behind more than anyone had drawn on a plan.

Dr. Hélène Marchand has proposed the measure by which this plan should be judged: for how many
hours can Chamber B stay below -15 °C when everything that shares a cause has failed together? In
2023 the answer was about two hours. She asked for a day. This plan reaches about six hours from
the site's own means with no engine running at all, and it reaches weeks when the ship is
alongside. It does not reach a day at times when the ship is away and the generator is broken. We
say so openly, and section 5 explains why we recommend living with that.

# 2. Principle: three layers that do not share a cause

We looked at each source of power and asked what could take it away. A gale takes the mains. Bad
fuel, a flat starter battery or a blocked filter takes the generator. Old age and cold take the
batteries. Passages and repairs take the ship. The aim is that no line appears in two lists.

At present one line does. The generator G1 and the ship draw diesel from the same tank on the quay,
and in 2023 this tank held rainwater. A second machine that drinks from the same cup is not a
second source. Ending the shared tank is therefore not a detail of plumbing, but the condition for
all the rest.

The first layer is ride-through. A battery bank of 48 kWh, named B-1, feeds the controls, the
alarms and the duty compressors without a gap. About 43 kWh of it can be used, and at the vault's
average load of 11 kW this gives just under four hours. The rock and the insulation give two more
before Chamber B passes its limit.

The second layer is the generator G1, of 60 kVA. It is from 1996 and in better health than its
reputation. It will be overhauled, its day tank will receive a water sensor, and its fuel will be
polished.

The third layer is the Alca. Through a cable and a mechanical changeover switch on the quay she can
give the vault 30 kW from one of her two generators. This needs work on both sides. The shore side
is item P4 below. The ship's side belongs to her refit in the winter of 2026 and is budgeted there.

# 3. Measures and budget

Seven measures follow from the three layers. Every one of them can be traced to something that
failed, or to somebody who was asked what would fail next.

| Item | Measure | Year | Euros
| P1 | Battery bank B-1, 48 kWh | 2025 | 54,000
| P2 | Overhaul of G1, fuel polishing, water sensor | 2025 | 14,600
| P3 | Separate fuel tank for the vault, 2,500 litres | 2026 | 21,300
| P4 | Quay socket and changeover switch for the ship | 2026 | 18,700
| P5 | New batteries at Gull Skerry and Marrow Point | 2026 | 9,800
| P6 | Alarm paths by telephone and radio | 2025 | 6,200
| P7 | Black-start exercise, 3,000 in each year | 2025-27 | 9,000
| | Total | | 133,600

Of the total, 77,800 fall into 2025, 52,800 into 2026 and 3,000 into 2027. The bursar, Colm Tierney,
has asked us to order the items by what we would give up last. The order is P1, P6, P3, P2, P4, P7,
P5. He then pointed out that P7 costs the least for what it finds, and that engineers always put
exercises near the end. We have left the order as it is and recorded his remark.

P5 may look out of place in a plan that is mainly about seeds. The lead batteries at Gull Skerry
have lost about a fifth of their capacity since 2020, and their four pieces weigh 116 kg. Lithium
iron phosphate weighs a third of that. The station runs on 4.1 W and today survives approx. 24 days
without sun; what we buy is not more days, but a visit that two people can carry.

# 4. Exercise

Every year, on a working day between May and October, the main switch is opened and the vault is
left to its layers in turn. The person on call is not told the day. Three figures
are written down: the time until the second person on the alarm list answers, the time that B-1
holds with G1 locked out, and the number of attempts that G1 needs to start. The exercise ends when
B-1 is at 20 % of charge or any logger shows -17 °C, whichever is first.

> If we are not willing to open the switch on a Thursday morning with everybody present, we should
> not expect it to go well on a Wednesday night with nobody there.

An exercise that finds nothing is no reason to skip the next. By the end of 2022 the generator had
passed 26 monthly tests in a row, each of ten minutes, and each on the clean fuel that was still in
the pipe.

# 5. What we do not propose

A second diesel generator. It would cost 62,000 and would have been the obvious purchase in 2023.
It shares with G1 the fuel, the exhaust, the room and the person who forgets to drain the tank. It
would have stopped a few minutes after the first.

A battery for a whole day. This would need about 260 kWh, which does not fit into the old engine
room, and cost approx. 240,000. Prices are falling, and the question should be put again in 2027.

Cooling with liquid nitrogen. It works without any electricity and is used by other genebanks. In a
tunnel with one door it is also a good way to lose a curator. Dr. Marchand withdrew the idea
herself.

Moving the active collection into Chamber A. There is room for about half of it, and the thicker
walls would help. Yet the door of Chamber A would then be opened daily, and 7,310 accessions that
are undisturbed today would pay for the safety of the others.

What remains is the case in which the ship is away, the mains are down and G1 does not start. We
estimate that this occurs once in about 40 years. For that night the answer is on the shelves in
Japan: duplicates of the seeds at the Ishikari Seed Centre, whose number the Director has agreed to
raise to 3,000.

# 6. Conditions and dates

- B-1 is to be in service by the end of July 2025, and G1 overhauled by the end of September 2025.
Unless both are done, the ship does not leave for the yard.

- The shared quay tank ends with P3, at the latest on 30 June 2026. Until then the fuel notice and
the weekly sample jar remain in force without exception.

- The first trial of the ship's connection is to take place within six weeks of her return.

- The plan is reviewed each March by someone from a group that did not write it. In 2026 this is
the head of the gauge group, Dr. Matthias Köhler.
"""


def blocks() -> list[list[str]]:
    """The blocks of the text, each as its lines."""
    return [block.splitlines() for block in TEXT.strip().split("\n\n")]


def gap(pdf: FPDF) -> None:
    """A blank line of text, not a mere move, so that readers of the PDF see paragraphs."""
    pdf.set_font("Helvetica", size=6)
    pdf.cell(text=" ", new_x="LMARGIN", new_y="NEXT")


def paragraph(pdf: FPDF, text: str, *, style: str = "", size: float = 11.5) -> None:
    """One paragraph, kept on one page. ``size`` is in points."""
    pdf.set_font("Helvetica", style, size)
    with pdf.offset_rendering() as trial:
        trial.multi_cell(0, size * 0.49, text, align="L")
    if trial.page_break_triggered:
        pdf.add_page()
    pdf.multi_cell(0, size * 0.49, text, align="L", new_x="LMARGIN", new_y="NEXT")


def table(pdf: FPDF, lines: list[str]) -> None:
    """A table whose first row is the heading, kept on one page."""
    if pdf.will_page_break(ROW_MM * len(lines)):
        pdf.add_page()
    pdf.set_font("Helvetica", size=10.5)
    pdf.set_draw_color(*ACCENT)
    heading = FontFace(emphasis="BOLD", fill_color=SHADE)
    with pdf.table(
        borders_layout="HORIZONTAL_LINES",
        col_widths=(10, 88, 20, 20),
        headings_style=heading,
        line_height=ROW_MM,
        text_align=("LEFT", "LEFT", "LEFT", "RIGHT"),
    ) as rows:
        for line in lines:
            rows.row([cell.strip() for cell in line.split("|")[1:]])


def write_block(pdf: FPDF, lines: list[str]) -> None:
    """One block in the manner that its first characters ask for."""
    if lines[0].startswith("|"):
        table(pdf, lines)
    elif lines[0].startswith("# "):
        if pdf.will_page_break(HEADING_ROOM_MM):
            pdf.add_page()
        pdf.set_text_color(*ACCENT)
        paragraph(pdf, lines[0].removeprefix("# "), style="B", size=14)
        pdf.set_text_color(*INK)
    elif lines[0].startswith("> "):
        pdf.set_left_margin(30)
        paragraph(pdf, " ".join(line.removeprefix("> ") for line in lines), style="I")
        pdf.set_left_margin(22)
    else:
        paragraph(pdf, " ".join(lines))
    pdf.set_x(pdf.l_margin)
    gap(pdf)


def main() -> None:
    """Write the PDF."""
    pdf = FPDF(format="A4")
    pdf.set_creation_date(datetime(2025, 3, 14, 9, 0, tzinfo=UTC))
    pdf.set_title(TITLE)
    pdf.set_author("Tolsay Coastal Institute")
    pdf.set_lang("en-GB")
    pdf.set_margins(22, 20, 22)
    pdf.set_auto_page_break(auto=True, margin=20)
    pdf.set_text_color(*INK)
    pdf.add_page()
    paragraph(pdf, TITLE, style="B", size=20)
    pdf.set_draw_color(*ACCENT)
    pdf.line(22, pdf.get_y() + 1.5, 188, pdf.get_y() + 1.5)
    gap(pdf)
    for lines in blocks():
        write_block(pdf, lines)
    pdf.output(str(TARGET))


if __name__ == "__main__":
    main()

"""QMSum and SQuALITY, as they are published."""

from support.evaluation_sets import write_lines

from raptor_lab.datasets.load import load_dataset


def meeting(**fields):
    turns = [("A", "The lamp is lit."), ("B", "It burns oil."), ("A", "We stop here.")]
    asked = {"query": "What burns?", "answer": "The lamp.", "relevant_text_span": [["0", "1"]]}
    return {
        "meeting_transcripts": [{"speaker": who, "content": text} for who, text in turns],
        "general_query_list": [{"query": "Summarize the meeting.", "answer": "A lamp burns oil."}],
        "specific_query_list": [asked | fields],
        "topic_list": [],
    }


def test_qmsum_has_general_questions_and_specific_ones_with_their_turns(tmp_path):
    dataset = load_dataset(write_lines(tmp_path / "qmsum.jsonl", [meeting(), meeting()]))
    assert dataset.name == "qmsum"
    text = "A: The lamp is lit.\n\nB: It burns oil.\n\nA: We stop here."
    assert [document.text for document in dataset.documents] == [text, text]
    general, specific = dataset.questions[:2]
    assert (general.kinds, general.evidence) == (("general",), ())
    assert (specific.kinds, specific.answers) == (("specific",), ("The lamp.",))
    assert specific.evidence == ("A: The lamp is lit.", "B: It burns oil.")


def test_squality_asks_for_the_plot_first_and_has_several_answers(tmp_path):
    asked = [
        {"question_text": text, "responses": [{"response_text": "One."}, {"response_text": "Two."}]}
        for text in ("What is the plot of the story?", "Who is Aud?")
    ]
    row = {"metadata": {"passage_id": "7"}, "document": "Aud lit the lamp.", "questions": asked}
    dataset = load_dataset(write_lines(tmp_path / "s.jsonl", [row]))
    assert (dataset.name, dataset.documents[0].id) == ("squality", "7")
    assert [question.kinds for question in dataset.questions] == [("general",), ("specific",)]
    assert dataset.questions[0].answers == ("One.", "Two.")
